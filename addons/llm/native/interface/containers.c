/* Arrays, dictionaries and packed strings, read and filled as a whole. */

#include "containers.h"

#include "interface_calls.h"

#include <stddef.h>

static struct {
	GDExtensionPtrBuiltInMethod size[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX];
	GDExtensionPtrBuiltInMethod change[GDEXTENSION_VARIANT_TYPE_VARIANT_MAX]; /* resize; of a Dictionary: keys */
} methods;

static GDExtensionPtrBuiltInMethod find(int32_t type, const char *text, int64_t hash) {
	uint64_t name = 0;
	string_name_new_with_utf8_chars(&name, text);
	GDExtensionPtrBuiltInMethod found = variant_get_ptr_builtin_method((GDExtensionVariantType)type, &name, hash);
	value_destroy(GDEXTENSION_VARIANT_TYPE_STRING_NAME, &name);
	return found;
}

const char *container_load(int32_t type, int64_t size_hash, int64_t change_hash) {
	bool is_dictionary = type == GDEXTENSION_VARIANT_TYPE_DICTIONARY;
	methods.size[type] = find(type, "size", size_hash);
	methods.change[type] = find(type, is_dictionary ? "keys" : "resize", change_hash);
	return methods.size[type] != NULL && methods.change[type] != NULL ? NULL : "size, resize or keys of a container";
}

int64_t container_size(int32_t type, const void *container) {
	int64_t size = 0;
	/* The interface takes it as not const, and `size` leaves it alone. */
	methods.size[type]((void *)(uintptr_t)container, NULL, &size, 0);
	return size;
}

void container_resize(int32_t type, void *container, int64_t size) {
	int64_t result = 0;
	GDExtensionConstTypePtr arguments[1] = { &size };
	methods.change[type](container, arguments, &result, 1);
}

void array_fill(void *array, Value *values, int64_t count) {
	container_resize(GDEXTENSION_VARIANT_TYPE_ARRAY, array, count);
	for (int64_t i = 0; i < count; i++) {
		value_write_variant(&values[i], array_operator_index(array, i));
	}
}

void array_read(const void *array, int64_t count, Value *values) {
	for (int64_t i = 0; i < count; i++) {
		GDExtensionConstVariantPtr item = array_operator_index_const(array, i);
		values_read_variants(&item, 1, &values[i]);
	}
}

void dictionary_fill(void *dictionary, Value *values, int64_t count) {
	for (int64_t i = 0; i < count; i++) {
		uint64_t key[3];
		value_make_variant(&values[2 * i], key);
		value_write_variant(&values[2 * i + 1], dictionary_operator_index(dictionary, key));
		variant_destroy(key);
	}
}

void dictionary_read(const void *dictionary, int64_t count, Value *values) {
	uint64_t keys = 0;
	value_create(GDEXTENSION_VARIANT_TYPE_ARRAY, &keys);
	methods.change[GDEXTENSION_VARIANT_TYPE_DICTIONARY]((void *)(uintptr_t)dictionary, NULL, &keys, 0);
	for (int64_t i = 0; i < count; i++) {
		GDExtensionConstVariantPtr pair[2];
		pair[0] = array_operator_index_const(&keys, i);
		pair[1] = dictionary_operator_index_const(dictionary, pair[0]);
		values_read_variants(pair, 2, &values[2 * i]);
	}
	value_destroy(GDEXTENSION_VARIANT_TYPE_ARRAY, &keys);
}

void packed_strings_fill(void *strings, Value *values, int64_t count) {
	container_resize(GDEXTENSION_VARIANT_TYPE_PACKED_STRING_ARRAY, strings, count);
	for (int64_t i = 0; i < count; i++) {
		value_write_pointer(&values[i], GDEXTENSION_VARIANT_TYPE_STRING, false, packed_string_array_operator_index(strings, i));
	}
}

void packed_strings_read(const void *strings, int64_t count, Value *values) {
	for (int64_t i = 0; i < count; i++) {
		GDExtensionConstTypePtr string = packed_string_array_operator_index_const(strings, i);
		values[i].type = GDEXTENSION_VARIANT_TYPE_STRING;
		values_read_pointers(&string, 1, &values[i]);
	}
}
