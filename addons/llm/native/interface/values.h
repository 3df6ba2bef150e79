#ifndef LLM_INTERFACE_VALUES_H
#define LLM_INTERFACE_VALUES_H

#include <gdextension_interface.h>

#include <stdbool.h>

/* Everything below is also read by cffi: plain declarations only. */

/* One value on its way between Python and the engine. Many are filled or read for each call across, so that a call
 * of a method with any number of arguments gives up the GIL once. */
typedef struct {
	int32_t type; /* GDExtensionVariantType */
	GDExtensionBool as_variant; /* the engine wants, or gives, a Variant */
	GDExtensionBool owned; /* object: the reader owns one reference to it */
	int64_t length; /* text: bytes of UTF-8 */
	char *text; /* text: UTF-8; values that were read own it */
	void *python; /* object: the handle of the Python object behind it, or null */
	union {
		int64_t integer;
		double real;
		GDExtensionBool boolean;
		void *object;
		uint64_t opaque[3]; /* an engine value, a Variant included; object: [1] identifies its class's name, [2] is its instance id */
	};
} Value;

/* Fetches constructors, destructors and the bindings of RefCounted. `token` tells our objects from others'.
 * Null, or the name of what this engine lacks. */
const char *values_load(void *token, int64_t reference_hash, int64_t init_ref_hash);

/* From here on nothing of the engine is touched any more: destroying and releasing do nothing. */
void values_close(void);
bool values_are_open(void);

/* The engine's own name of a type, as a String slot. */
void value_type_name(int32_t type, void *string);

/* `slot` -> the engine's value of that type, by its own constructor, copy constructor and destructor. */
void value_create(int32_t type, void *slot);
void value_copy(int32_t type, void *slot, const void *source);
void value_destroy(int32_t type, void *slot);

/* Makes the slot what an engine call takes (text -> String, anything -> Variant), and undoes that. */
void value_open(Value *value);
void value_shut(Value *value);

/* Makes the slot what an engine call may assign to; then turns what was assigned into plain data. */
void value_expect(Value *value);
void value_take(Value *value);

/* Reads engine memory, which stays as it is. Frees what reads allocated for text. */
void values_read_variants(const GDExtensionConstVariantPtr *variants, int64_t count, Value *values);
void values_read_pointers(const GDExtensionConstTypePtr *pointers, int64_t count, Value *values);
void values_free(Value *values, int64_t count);

/* Makes a new Variant of a value. */
void value_make_variant(Value *value, GDExtensionUninitializedVariantPtr variant);

/* Assigns to engine memory that holds an initialised Variant, or an initialised value of type `declared`. */
void value_write_variant(Value *value, GDExtensionVariantPtr target);
void value_write_pointer(Value *value, int32_t declared, GDExtensionBool is_reference, GDExtensionTypePtr target);

/* memcpy and memset for large arrays: cffi's own hold the GIL. */
void memory_copy(void *target, const void *source, int64_t size);
void memory_clear(void *target, int64_t size);

/* Reference counting of RefCounted objects. False where the object is being destroyed; releasing the last reference
 * destroys it. */
void object_init_reference(void *object);
bool object_reference(void *object);
void object_release(void *object);

/* What Python needs to know of an object: instance id, its own object, and a reference where it is RefCounted. */
void object_identify(Value *value);

#endif
