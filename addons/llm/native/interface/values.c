/* Values between Python and the engine, in bulk and without the GIL. Which Python type becomes which engine type is
 * decided in python/godot/variant.py. */

#include "values.h"

#include "interface_calls.h"

#include <stdlib.h>
#include <string.h>

enum {
	TYPES = GDEXTENSION_VARIANT_TYPE_VARIANT_MAX,
	COPY_CONSTRUCTOR = 1,
	/* Positions in the constructor lists of extension_api.json, which the engine keeps stable. */
	STRING_FROM_STRING_NAME = 2,
	STRING_FROM_NODE_PATH = 3,
	NODE_PATH_FROM_STRING = 2,
};

static struct {
	GDExtensionVariantFromTypeConstructorFunc to_variant[TYPES];
	GDExtensionTypeFromVariantConstructorFunc from_variant[TYPES];
	GDExtensionPtrConstructor create[TYPES];
	GDExtensionPtrConstructor copy[TYPES];
	GDExtensionPtrDestructor destroy[TYPES];
	GDExtensionPtrConstructor string_from_string_name;
	GDExtensionPtrConstructor string_from_node_path;
	GDExtensionPtrConstructor node_path_from_string;
	GDExtensionMethodBindPtr reference;
	GDExtensionMethodBindPtr unreference;
	GDExtensionMethodBindPtr init_ref;
	void *ref_counted_tag;
	void *token;
	volatile bool open;
} engine;

/* Types whose values are read; of others only the type is told. */
static bool is_readable(int32_t type) {
	switch (type) {
		case GDEXTENSION_VARIANT_TYPE_BOOL:
		case GDEXTENSION_VARIANT_TYPE_INT:
		case GDEXTENSION_VARIANT_TYPE_FLOAT:
		case GDEXTENSION_VARIANT_TYPE_RID:
		case GDEXTENSION_VARIANT_TYPE_CALLABLE:
		case GDEXTENSION_VARIANT_TYPE_DICTIONARY:
		case GDEXTENSION_VARIANT_TYPE_ARRAY:
		case GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY:
		case GDEXTENSION_VARIANT_TYPE_PACKED_INT32_ARRAY:
		case GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY:
		case GDEXTENSION_VARIANT_TYPE_PACKED_STRING_ARRAY:
			return true;
		default:
			return false;
	}
}

static bool is_text(int32_t type) {
	return type == GDEXTENSION_VARIANT_TYPE_STRING || type == GDEXTENSION_VARIANT_TYPE_STRING_NAME || type == GDEXTENSION_VARIANT_TYPE_NODE_PATH;
}

static GDExtensionMethodBindPtr find_method(const char *class_text, const char *method_text, int64_t hash) {
	uint64_t class_name = 0;
	uint64_t method_name = 0;
	string_name_new_with_utf8_chars(&class_name, class_text);
	string_name_new_with_utf8_chars(&method_name, method_text);
	GDExtensionMethodBindPtr found = classdb_get_method_bind(&class_name, &method_name, hash);
	value_destroy(GDEXTENSION_VARIANT_TYPE_STRING_NAME, &method_name);
	value_destroy(GDEXTENSION_VARIANT_TYPE_STRING_NAME, &class_name);
	return found;
}

const char *values_load(void *token, int64_t reference_hash, int64_t init_ref_hash) {
	engine.token = token;
	engine.open = true;
	for (int type = 1; type < TYPES; type++) {
		engine.to_variant[type] = get_variant_from_type_constructor((GDExtensionVariantType)type);
		engine.from_variant[type] = get_variant_to_type_constructor((GDExtensionVariantType)type);
		engine.create[type] = variant_get_ptr_constructor((GDExtensionVariantType)type, 0);
		engine.copy[type] = variant_get_ptr_constructor((GDExtensionVariantType)type, COPY_CONSTRUCTOR);
		engine.destroy[type] = variant_get_ptr_destructor((GDExtensionVariantType)type);
	}
	engine.string_from_string_name = variant_get_ptr_constructor(GDEXTENSION_VARIANT_TYPE_STRING, STRING_FROM_STRING_NAME);
	engine.string_from_node_path = variant_get_ptr_constructor(GDEXTENSION_VARIANT_TYPE_STRING, STRING_FROM_NODE_PATH);
	engine.node_path_from_string = variant_get_ptr_constructor(GDEXTENSION_VARIANT_TYPE_NODE_PATH, NODE_PATH_FROM_STRING);

	uint64_t class_name = 0;
	string_name_new_with_utf8_chars(&class_name, "RefCounted");
	engine.ref_counted_tag = classdb_get_class_tag(&class_name);
	value_destroy(GDEXTENSION_VARIANT_TYPE_STRING_NAME, &class_name);
	engine.reference = find_method("RefCounted", "reference", reference_hash);
	engine.unreference = find_method("RefCounted", "unreference", reference_hash);
	engine.init_ref = find_method("RefCounted", "init_ref", init_ref_hash);
	if (engine.ref_counted_tag == NULL || engine.reference == NULL || engine.unreference == NULL || engine.init_ref == NULL) {
		return "RefCounted.reference, unreference or init_ref";
	}
	return NULL;
}

void values_close(void) {
	engine.open = false;
}

bool values_are_open(void) {
	return engine.open;
}

void value_type_name(int32_t type, void *string) {
	variant_get_type_name((GDExtensionVariantType)type, string);
}

void value_create(int32_t type, void *slot) {
	engine.create[type](slot, NULL);
}

void value_copy(int32_t type, void *slot, const void *source) {
	engine.copy[type](slot, &source);
}

void value_destroy(int32_t type, void *slot) {
	if (engine.open && engine.destroy[type] != NULL) {
		engine.destroy[type](slot);
	}
}

/* --- Python's data -> an engine value ------------------------------------------------------------------------- */

static void make_text(const Value *value, void *slot) {
	const char *text = value->length > 0 ? value->text : "";
	if (value->type == GDEXTENSION_VARIANT_TYPE_STRING_NAME) {
		string_name_new_with_utf8_chars_and_len(slot, text, value->length);
		return;
	}
	if (value->type == GDEXTENSION_VARIANT_TYPE_STRING) {
		string_new_with_utf8_chars_and_len2(slot, text, value->length);
		return;
	}
	uint64_t string = 0;
	string_new_with_utf8_chars_and_len2(&string, text, value->length);
	const void *argument = &string;
	engine.node_path_from_string(slot, &argument);
	value_destroy(GDEXTENSION_VARIANT_TYPE_STRING, &string);
}

void value_make_variant(Value *value, GDExtensionUninitializedVariantPtr variant) {
	if (value->type == GDEXTENSION_VARIANT_TYPE_NIL) {
		variant_new_nil(variant);
	} else if (is_text(value->type)) {
		uint64_t text = 0;
		make_text(value, &text);
		engine.to_variant[value->type](variant, &text);
		value_destroy(value->type, &text);
	} else {
		/* The slot may be the variant itself. */
		uint64_t slot[3];
		memcpy(slot, value->opaque, sizeof(slot));
		engine.to_variant[value->type](variant, slot);
	}
}

void value_open(Value *value) {
	if (value->as_variant) {
		value_make_variant(value, value->opaque);
	} else if (is_text(value->type)) {
		make_text(value, value->opaque);
	}
}

void value_shut(Value *value) {
	if (value->as_variant) {
		variant_destroy(value->opaque);
	} else if (is_text(value->type)) {
		value_destroy(value->type, value->opaque);
	}
}

void value_write_variant(Value *value, GDExtensionVariantPtr target) {
	variant_destroy(target);
	value_make_variant(value, target);
}

void value_write_pointer(Value *value, int32_t declared, GDExtensionBool is_reference, GDExtensionTypePtr target) {
	if (value->as_variant) {
		value_write_variant(value, target);
	} else if (declared == GDEXTENSION_VARIANT_TYPE_OBJECT) {
		void *object = value->type == GDEXTENSION_VARIANT_TYPE_OBJECT ? value->object : NULL;
		if (is_reference) {
			ref_set_object(target, object);
		} else {
			*(void **)target = object;
		}
	} else if (is_text(declared)) {
		value_destroy(declared, target);
		make_text(value, target);
	} else if (declared == GDEXTENSION_VARIANT_TYPE_BOOL) {
		*(GDExtensionBool *)target = value->boolean;
	} else if (declared == GDEXTENSION_VARIANT_TYPE_INT || declared == GDEXTENSION_VARIANT_TYPE_FLOAT || declared == GDEXTENSION_VARIANT_TYPE_RID) {
		memcpy(target, value->opaque, sizeof(uint64_t));
	} else if (declared != GDEXTENSION_VARIANT_TYPE_NIL) {
		value_destroy(declared, target);
		value_copy(declared, target, value->opaque);
	}
}

/* --- an engine value -> Python's data ------------------------------------------------------------------------- */

static bool is_ref_counted(const void *object) {
	return object_cast_to(object, engine.ref_counted_tag) != NULL;
}

void object_identify(Value *value) {
	value->python = NULL;
	if (value->object == NULL) {
		return;
	}
	value->opaque[2] = object_get_instance_id(value->object);
	value->python = object_get_instance_binding(value->object, engine.token, NULL);
	uint64_t class_name = 0;
	if (value->python == NULL && object_get_class_name(value->object, engine.token, &class_name)) {
		value->opaque[1] = class_name; /* as long as the class exists, so does its name */
		value_destroy(GDEXTENSION_VARIANT_TYPE_STRING_NAME, &class_name);
	}
	if (!value->owned && is_ref_counted(value->object)) {
		value->owned = object_reference(value->object);
	}
}

/* `string` is consumed. */
static void take_string(Value *value, void *string) {
	value->length = string_to_utf8_chars(string, NULL, 0);
	value->text = malloc((size_t)value->length + 1);
	if (value->text == NULL) {
		value->length = 0;
	} else {
		string_to_utf8_chars(string, value->text, value->length);
	}
	value_destroy(GDEXTENSION_VARIANT_TYPE_STRING, string);
}

/* `slot` holds a String, StringName or NodePath, which stays. */
static void read_text(Value *value, const void *slot) {
	uint64_t string = 0;
	if (value->type == GDEXTENSION_VARIANT_TYPE_STRING) {
		value_copy(GDEXTENSION_VARIANT_TYPE_STRING, &string, slot);
	} else if (value->type == GDEXTENSION_VARIANT_TYPE_STRING_NAME) {
		engine.string_from_string_name(&string, &slot);
	} else {
		engine.string_from_node_path(&string, &slot);
	}
	take_string(value, &string);
}

static void read_variant(Value *value, GDExtensionConstVariantPtr variant) {
	void *source = (void *)(uintptr_t)variant; /* the interface takes it as not const, and leaves it alone */
	uint64_t slot[3] = { 0 };
	value->type = (int32_t)variant_get_type(variant);
	value->as_variant = false;
	value->owned = false;
	value->text = NULL;
	if (value->type == GDEXTENSION_VARIANT_TYPE_OBJECT) {
		/* By id, since the pointer in a Variant outlives the object. */
		GDObjectInstanceID id = variant_get_object_instance_id(variant);
		value->object = id == 0 ? NULL : object_get_instance_from_id(id);
		object_identify(value);
	} else if (is_text(value->type)) {
		engine.from_variant[value->type](slot, source);
		read_text(value, slot);
		value_destroy(value->type, slot);
	} else if (is_readable(value->type)) {
		engine.from_variant[value->type](slot, source);
		memcpy(value->opaque, slot, sizeof(slot));
	}
}

void values_read_variants(const GDExtensionConstVariantPtr *variants, int64_t count, Value *values) {
	for (int64_t i = 0; i < count; i++) {
		read_variant(&values[i], variants[i]);
	}
}

void values_read_pointers(const GDExtensionConstTypePtr *pointers, int64_t count, Value *values) {
	for (int64_t i = 0; i < count; i++) {
		Value *value = &values[i];
		value->owned = false;
		if (value->as_variant) {
			read_variant(value, pointers[i]);
		} else if (value->type == GDEXTENSION_VARIANT_TYPE_OBJECT) {
			value->object = *(void *const *)pointers[i];
			object_identify(value);
		} else if (is_text(value->type)) {
			read_text(value, pointers[i]);
		} else if (value->type == GDEXTENSION_VARIANT_TYPE_BOOL) {
			value->boolean = *(const GDExtensionBool *)pointers[i];
		} else if (value->type == GDEXTENSION_VARIANT_TYPE_INT || value->type == GDEXTENSION_VARIANT_TYPE_FLOAT || value->type == GDEXTENSION_VARIANT_TYPE_RID) {
			memcpy(value->opaque, pointers[i], sizeof(uint64_t));
		} else {
			value_copy(value->type, value->opaque, pointers[i]);
		}
	}
}

void values_free(Value *values, int64_t count) {
	for (int64_t i = 0; i < count; i++) {
		if (is_text(values[i].type)) {
			free(values[i].text);
			values[i].text = NULL;
		}
	}
}

void value_expect(Value *value) {
	memset(value->opaque, 0, sizeof(value->opaque));
	if (value->as_variant) {
		variant_new_nil(value->opaque);
	} else if (value->type != GDEXTENSION_VARIANT_TYPE_NIL && value->type != GDEXTENSION_VARIANT_TYPE_OBJECT) {
		value_create(value->type, value->opaque);
	}
}

void value_take(Value *value) {
	if (value->as_variant) {
		uint64_t variant[3];
		memcpy(variant, value->opaque, sizeof(variant));
		read_variant(value, variant);
		variant_destroy(variant);
	} else if (value->type == GDEXTENSION_VARIANT_TYPE_OBJECT) {
		object_identify(value);
	} else if (is_text(value->type)) {
		uint64_t slot = value->opaque[0];
		read_text(value, &slot);
		value_destroy(value->type, &slot);
	}
}

/* --- memory and reference counts -------------------------------------------------------------------------------------- */

void memory_copy(void *target, const void *source, int64_t size) {
	memcpy(target, source, (size_t)size);
}

void memory_clear(void *target, int64_t size) {
	memset(target, 0, (size_t)size);
}

void object_init_reference(void *object) {
	GDExtensionBool alive = false;
	object_method_bind_ptrcall(engine.init_ref, object, NULL, &alive);
}

bool object_reference(void *object) {
	GDExtensionBool alive = false;
	object_method_bind_ptrcall(engine.reference, object, NULL, &alive);
	return alive;
}

void object_release(void *object) {
	if (!engine.open) {
		return;
	}
	GDExtensionBool is_last = false;
	object_method_bind_ptrcall(engine.unreference, object, NULL, &is_last);
	if (is_last) {
		object_destroy(object);
	}
}
