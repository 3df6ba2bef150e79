/* What the engine calls in Python, read by cffi alone. Implemented in python/godot/instances.py, methods.py and callables.py. */

extern "Python" GDExtensionObjectPtr on_create_instance(void *userdata, GDExtensionBool notify_postinitialize);
extern "Python" void on_free_instance(void *userdata, GDExtensionClassInstancePtr instance);
extern "Python" void on_notification(GDExtensionClassInstancePtr instance, int32_t what, GDExtensionBool reversed);
extern "Python" void *on_find_virtual(void *userdata, GDExtensionConstStringNamePtr name, uint32_t hash);
extern "Python" void on_call_virtual(GDExtensionClassInstancePtr instance, GDExtensionConstStringNamePtr name, void *method, const GDExtensionConstTypePtr *arguments, GDExtensionTypePtr result);
extern "Python" void on_call_method(void *method, GDExtensionClassInstancePtr instance, const GDExtensionConstVariantPtr *arguments, GDExtensionInt count, GDExtensionVariantPtr result, GDExtensionCallError *error);
extern "Python" void on_call_method_typed(void *method, GDExtensionClassInstancePtr instance, const GDExtensionConstTypePtr *arguments, GDExtensionTypePtr result);
extern "Python" void on_call_callable(void *callable, const GDExtensionConstVariantPtr *arguments, GDExtensionInt count, GDExtensionVariantPtr result, GDExtensionCallError *error);
extern "Python" void on_free_callable(void *callable);
extern "Python" uint32_t on_hash_callable(void *callable);
extern "Python" GDExtensionBool on_compare_callables(void *left, void *right);
extern "Python" void on_describe_callable(void *callable, GDExtensionBool *is_valid, GDExtensionStringPtr text);
