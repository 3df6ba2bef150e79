#ifndef LLM_INTERFACE_OBJECT_CALLS_H
#define LLM_INTERFACE_OBJECT_CALLS_H

#include "values.h"

/* Everything below is also read by cffi: plain declarations only. */

enum { MAX_ARGUMENTS = 32 };

/* Calls a method of the engine with typed arguments. An object with a non-zero instance id is looked up first: false
 * means that it was freed, or that there are more than MAX_ARGUMENTS. `arguments` are opened and shut. */
bool method_call_typed(GDExtensionMethodBindPtr method, void *object, uint64_t instance_id, Value *arguments, int64_t count, Value *result);

/* The same with Variants, for methods with any number of arguments and for omitted ones. */
bool method_call_variants(GDExtensionMethodBindPtr method, void *object, uint64_t instance_id, Value *arguments, int64_t count, Value *result, GDExtensionCallError *error);

/* Calls a method of a value itself, such as a Callable or an Array, by name. */
void value_call(Value *base, const void *name, Value *arguments, int64_t count, Value *result, GDExtensionCallError *error);

/* Calls a method of any object by name, a script's own included. */
bool object_call(void *object, uint64_t instance_id, const void *name, Value *arguments, int64_t count, Value *result, GDExtensionCallError *error);

/* Calls a utility function such as print, whose arguments are all Variants. */
void utility_call(GDExtensionPtrUtilityFunction function, Value *arguments, int64_t count);

#endif
