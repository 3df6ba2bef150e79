/* Calls from Python into the engine: arguments are prepared, the call is made and the result is read without the GIL. */

#include "object_calls.h"

#include "interface_calls.h"

#include <stddef.h>

static bool is_alive(const void *object, uint64_t instance_id) {
	return values_are_open() && (instance_id == 0 || object_get_instance_from_id(instance_id) == object);
}

static void open_all(Value *arguments, int64_t count, const void **pointers) {
	for (int64_t i = 0; i < count; i++) {
		value_open(&arguments[i]);
		pointers[i] = arguments[i].opaque;
	}
}

static void shut_all(Value *arguments, int64_t count) {
	for (int64_t i = 0; i < count; i++) {
		value_shut(&arguments[i]);
	}
}

bool method_call_typed(GDExtensionMethodBindPtr method, void *object, uint64_t instance_id, Value *arguments, int64_t count, Value *result) {
	if (count > MAX_ARGUMENTS || !is_alive(object, instance_id)) {
		return false;
	}
	GDExtensionConstTypePtr pointers[MAX_ARGUMENTS];
	open_all(arguments, count, pointers);
	value_expect(result);
	object_method_bind_ptrcall(method, object, pointers, result->opaque);
	value_take(result);
	shut_all(arguments, count);
	return true;
}

bool method_call_variants(GDExtensionMethodBindPtr method, void *object, uint64_t instance_id, Value *arguments, int64_t count, Value *result, GDExtensionCallError *error) {
	if (count > MAX_ARGUMENTS || !is_alive(object, instance_id)) {
		return false;
	}
	GDExtensionConstVariantPtr pointers[MAX_ARGUMENTS];
	open_all(arguments, count, pointers);
	object_method_bind_call(method, object, pointers, count, result->opaque, error);
	result->as_variant = true;
	value_take(result);
	shut_all(arguments, count);
	return true;
}

void value_call(Value *base, const void *name, Value *arguments, int64_t count, Value *result, GDExtensionCallError *error) {
	GDExtensionConstVariantPtr pointers[MAX_ARGUMENTS] = { NULL };
	count = count > MAX_ARGUMENTS ? MAX_ARGUMENTS : count;
	open_all(arguments, count, pointers);
	value_open(base);
	variant_call(base->opaque, name, pointers, count, result->opaque, error);
	result->as_variant = true;
	value_take(result);
	value_shut(base);
	shut_all(arguments, count);
}

bool object_call(void *object, uint64_t instance_id, const void *name, Value *arguments, int64_t count, Value *result, GDExtensionCallError *error) {
	if (count > MAX_ARGUMENTS || !is_alive(object, instance_id)) {
		return false;
	}
	Value base = { .type = GDEXTENSION_VARIANT_TYPE_OBJECT, .as_variant = true };
	base.object = object;
	value_call(&base, name, arguments, count, result, error);
	return true;
}

void utility_call(GDExtensionPtrUtilityFunction function, Value *arguments, int64_t count) {
	GDExtensionConstTypePtr pointers[MAX_ARGUMENTS] = { NULL };
	count = count > MAX_ARGUMENTS ? MAX_ARGUMENTS : count;
	open_all(arguments, count, pointers);
	function(NULL, pointers, (int)count);
	shut_all(arguments, count);
}
