/* The extension that Godot loads. It starts Python when the engine's classes are there, and hands over: what classes
 * there are, and what they do, is decided in Python (python/godot). The interpreter is never restarted. */

#include "interpreter.h"
#include "platform.h"
#include "runtime_config.h"

#include <gdextension_interface.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(_WIN32)
#define LLM_EXPORT __declspec(dllexport)
#else
#define LLM_EXPORT __attribute__((visibility("default")))
#endif

static struct {
	GDExtensionInterfaceGetProcAddress get_proc_address;
	GDExtensionClassLibraryPtr library;
	LLMRuntimeConfig config;
	bool python_is_up;
} extension;

static void report(const char *function, const char *reason) {
	char message[2 * LLM_PATH_SIZE];
	snprintf(message, sizeof(message), "The llm add-on has no classes: %s", reason);
	GDExtensionInterfacePrintError print_error =
			(GDExtensionInterfacePrintError)extension.get_proc_address("print_error");
	print_error(message, function, __FILE__, __LINE__, false);
}

static void *get_proc_address_as_data(void) {
	void *address = NULL;
	memcpy(&address, &extension.get_proc_address, sizeof(address));
	return address;
}

static bool start_python(char *error, size_t error_size) {
	char folder[LLM_PATH_SIZE];
	if (!llm_platform_library_folder(folder, sizeof(folder))) {
		snprintf(error, error_size, "the folder of the add-on's own library is not known.");
		return false;
	}
	return llm_runtime_config_read(&extension.config, folder, error, error_size) && llm_interpreter_start(&extension.config, error, error_size);
}

static void initialize(void *userdata, GDExtensionInitializationLevel level) {
	(void)userdata;
	if (level != GDEXTENSION_INITIALIZATION_SCENE && level != GDEXTENSION_INITIALIZATION_EDITOR) {
		return;
	}
	char error[2 * LLM_PATH_SIZE];
	if (level == GDEXTENSION_INITIALIZATION_SCENE) {
		extension.python_is_up = start_python(error, sizeof(error));
		if (!extension.python_is_up) {
			report(__func__, error);
		}
	}
	if (extension.python_is_up && !llm_interpreter_call("initialize", level, get_proc_address_as_data(), extension.library, extension.config.module, error, sizeof(error))) {
		extension.python_is_up = false;
		report(__func__, error);
	}
}

static void deinitialize(void *userdata, GDExtensionInitializationLevel level) {
	(void)userdata;
	char error[256];
	if (!extension.python_is_up || level != GDEXTENSION_INITIALIZATION_SCENE) {
		return;
	}
	/* Python itself stays: numpy and most compiled modules do not survive Py_Finalize. */
	extension.python_is_up = false;
	if (!llm_interpreter_call("deinitialize", level, get_proc_address_as_data(), extension.library, extension.config.module, error, sizeof(error))) {
		report(__func__, error);
	}
}

LLM_EXPORT GDExtensionBool llm_extension_init(GDExtensionInterfaceGetProcAddress get_proc_address,
		GDExtensionClassLibraryPtr library, GDExtensionInitialization *initialization) {
	extension.get_proc_address = get_proc_address;
	extension.library = library;
	initialization->minimum_initialization_level = GDEXTENSION_INITIALIZATION_SCENE;
	initialization->initialize = initialize;
	initialization->deinitialize = deinitialize;
	return true;
}
