"""What of the engine the binding carries: classes, and functions of the C interface.

Ancestors of the classes come along by themselves. A class that is not here still works as its
nearest ancestor that is, so a line here is all that a new class needs.
"""

CLASSES = (
    # The engine itself
    "Engine",
    "OS",
    "Time",
    "ProjectSettings",
    "ClassDB",
    "Performance",
    "DisplayServer",
    "Input",
    "ResourceLoader",
    "EditorInterface",
    "FileAccess",
    "DirAccess",
    "GDScript",
    "Expression",
    # Computing on the GPU
    "RenderingServer",
    "RenderingDevice",
    "RDUniform",
    "RDShaderSource",
    "RDShaderSPIRV",
    "RDPipelineSpecializationConstant",
    # The scene tree
    "SceneTree",
    "SceneTreeTimer",
    "Window",
    "Node",
    "Timer",
    "PackedScene",
    "Resource",
    "ViewportTexture",
    "Image",
    # What tests of scenes press and read
    "Control",
    "Button",
    "OptionButton",
    "SpinBox",
    "Slider",
    "ProgressBar",
    "CheckBox",
    "Label",
    "LineEdit",
    "TextEdit",
    "RichTextLabel",
    "ScrollContainer",
    "VBoxContainer",
    "HBoxContainer",
    "FileDialog",
    "AcceptDialog",
    "InputEventKey",
    "InputEventMouseButton",
)

# Those of extension_api.json's utility_functions that python/godot calls; all take Variants.
UTILITY_FUNCTIONS = ("print", "printerr", "push_warning")

# Containers and the two of their methods that native/interface/values.c calls.
CONTAINER_METHODS = {
    "Array": ("size", "resize"),
    "Dictionary": ("size", "keys"),
    "PackedByteArray": ("size", "resize"),
    "PackedInt32Array": ("size", "resize"),
    "PackedFloat32Array": ("size", "resize"),
    "PackedStringArray": ("size", "resize"),
}

GLOBAL_ENUMS = (
    "PropertyHint",
    "PropertyUsageFlags",
    "Error",
    "Key",
    "KeyModifierMask",
    "MouseButton",
)

INTERFACE_FUNCTIONS = [
    "get_godot_version",
    "print_error_with_message",
    "print_script_error_with_message",
    # names, strings, variants
    "string_name_new_with_utf8_chars",
    "string_name_new_with_utf8_chars_and_len",
    "string_new_with_utf8_chars",
    "string_new_with_utf8_chars_and_len2",
    "string_to_utf8_chars",
    "variant_new_nil",
    "variant_destroy",
    "variant_get_type",
    "variant_get_type_name",
    "variant_get_object_instance_id",
    "variant_call",
    "get_variant_from_type_constructor",
    "get_variant_to_type_constructor",
    "variant_get_ptr_constructor",
    "variant_get_ptr_destructor",
    "variant_get_ptr_utility_function",
    "variant_get_ptr_builtin_method",
    # containers
    "array_operator_index",
    "array_operator_index_const",
    "dictionary_operator_index",
    "dictionary_operator_index_const",
    "packed_byte_array_operator_index",
    "packed_byte_array_operator_index_const",
    "packed_float32_array_operator_index",
    "packed_float32_array_operator_index_const",
    "packed_int32_array_operator_index",
    "packed_int32_array_operator_index_const",
    "packed_string_array_operator_index",
    "packed_string_array_operator_index_const",
    # objects
    "global_get_singleton",
    "object_method_bind_call",
    "object_method_bind_ptrcall",
    "object_get_instance_id",
    "object_get_instance_from_id",
    "object_get_class_name",
    "object_cast_to",
    "object_destroy",
    "object_get_instance_binding",
    "object_set_instance_binding",
    "object_set_instance",
    "ref_get_object",
    "ref_set_object",
    "callable_custom_create2",
    "callable_custom_get_userdata",
    # classes
    "classdb_construct_object2",
    "classdb_get_method_bind",
    "classdb_get_class_tag",
    "classdb_register_extension_class4",
    "classdb_register_extension_class_method",
    "classdb_register_extension_class_property",
    "classdb_register_extension_class_property_group",
    "classdb_register_extension_class_signal",
    "classdb_register_extension_class_integer_constant",
    "classdb_unregister_extension_class",
    "editor_help_load_xml_from_utf8_chars",
]
