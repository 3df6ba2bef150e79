/* CPython, loaded at run time.
 *
 * No function of libpython is linked: the library is found through runtime.cfg, and its functions by name. The layout
 * of PyConfig does change between versions, and up to 3.13 nothing stable can set the search paths, so this file is
 * built against the headers of one Python and refuses, in words, to run with another. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "interpreter.h"
#include "platform.h"

#include <stdio.h>
#include <string.h>

/* The functions of libpython in use: result, name, parameters. */
#define PYTHON_FUNCTIONS(X) \
	X(const char *, Py_GetVersion, (void)) \
	X(void, PyPreConfig_InitIsolatedConfig, (PyPreConfig *)) \
	X(PyStatus, Py_PreInitialize, (const PyPreConfig *)) \
	X(void, PyConfig_InitIsolatedConfig, (PyConfig *)) \
	X(PyStatus, PyConfig_SetBytesString, (PyConfig *, wchar_t **, const char *)) \
	X(PyStatus, PyWideStringList_Append, (PyWideStringList *, const wchar_t *)) \
	X(PyStatus, Py_InitializeFromConfig, (const PyConfig *)) \
	X(void, PyConfig_Clear, (PyConfig *)) \
	X(int, PyStatus_Exception, (PyStatus)) \
	X(PyStatus, PyStatus_NoMemory, (void)) \
	X(PyThreadState *, PyEval_SaveThread, (void)) \
	X(PyGILState_STATE, PyGILState_Ensure, (void)) \
	X(void, PyGILState_Release, (PyGILState_STATE)) \
	X(PyObject *, PyImport_ImportModule, (const char *)) \
	X(PyObject *, PyObject_CallMethod, (PyObject *, const char *, const char *, ...)) \
	X(wchar_t *, Py_DecodeLocale, (const char *, size_t *)) \
	X(void, PyMem_RawFree, (void *)) \
	X(void, PyErr_Print, (void)) \
	X(void, Py_DecRef, (PyObject *))

#define DECLARE(result, name, parameters) result(*name) parameters;
static struct {
	PYTHON_FUNCTIONS(DECLARE)
} python;
#undef DECLARE

static bool load_functions(const char *path, char *error, size_t error_size) {
	void *library = llm_platform_open_global(path);
	if (library == NULL) {
		snprintf(error, error_size, "libpython could not be loaded (%s). Run `./llm setup`, which finds it.", llm_platform_error());
		return false;
	}
	/* ISO C has no cast from an object pointer to a function pointer, so the address is copied. */
#define LOAD(result, name, parameters) \
	{ \
		void *address = llm_platform_symbol(library, #name); \
		if (address == NULL) { \
			snprintf(error, error_size, "%s has no function %s; CPython %d.%d is needed.", path, #name, PY_MAJOR_VERSION, PY_MINOR_VERSION); \
			return false; \
		} \
		memcpy(&python.name, &address, sizeof(address)); \
	}
	PYTHON_FUNCTIONS(LOAD)
#undef LOAD

	char built_for[16];
	snprintf(built_for, sizeof(built_for), "%d.%d.", PY_MAJOR_VERSION, PY_MINOR_VERSION);
	const char *version = python.Py_GetVersion();
	if (strncmp(version, built_for, strlen(built_for)) != 0) {
		snprintf(error, error_size, "built for Python %d.%d, but %s is Python %.*s. Run `./llm setup`, which builds it anew.",
				PY_MAJOR_VERSION, PY_MINOR_VERSION, path, (int)strcspn(version, " "), version);
		return false;
	}
	return true;
}

static PyStatus append_path(PyWideStringList *list, const char *path) {
	wchar_t *wide = python.Py_DecodeLocale(path, NULL);
	if (wide == NULL) {
		return python.PyStatus_NoMemory();
	}
	PyStatus status = python.PyWideStringList_Append(list, wide);
	python.PyMem_RawFree(wide);
	return status;
}

bool llm_interpreter_start(const LLMRuntimeConfig *runtime, char *error, size_t error_size) {
	if (!load_functions(runtime->library, error, error_size)) {
		return false;
	}
	PyPreConfig before;
	python.PyPreConfig_InitIsolatedConfig(&before);
	before.utf8_mode = 1;
	PyStatus status = python.Py_PreInitialize(&before);
	if (python.PyStatus_Exception(status)) {
		snprintf(error, error_size, "Python did not start: %s", status.err_msg ? status.err_msg : "no reason given");
		return false;
	}

	PyConfig config;
	python.PyConfig_InitIsolatedConfig(&config); /* no environment, no user site, no signal handlers */
	config.site_import = 0; /* the search paths are given in full, and it costs start-up time */
	config.module_search_paths_set = 1;
	status = python.PyConfig_SetBytesString(&config, &config.home, runtime->home);
	for (size_t i = 0; i < runtime->path_count && !python.PyStatus_Exception(status); i++) {
		status = append_path(&config.module_search_paths, runtime->paths[i]);
	}
	if (!python.PyStatus_Exception(status)) {
		status = python.Py_InitializeFromConfig(&config);
	}
	bool started = !python.PyStatus_Exception(status);
	if (started) {
		python.PyEval_SaveThread(); /* release the GIL: Godot's threads take it when they need it */
	} else {
		snprintf(error, error_size, "Python did not start (%s): %s", runtime->home, status.err_msg ? status.err_msg : "no reason given");
	}
	python.PyConfig_Clear(&config);
	return started;
}

bool llm_interpreter_call(const char *function, int level, void *get_proc_address, void *library, const char *module,
		char *error, size_t error_size) {
	PyGILState_STATE gil = python.PyGILState_Ensure();
	PyObject *result = NULL;
	PyObject *startup = python.PyImport_ImportModule("godot.startup");
	if (startup != NULL) {
		result = python.PyObject_CallMethod(startup, function, "iKKs", level,
				(unsigned long long)(uintptr_t)get_proc_address, (unsigned long long)(uintptr_t)library, module);
	}
	if (result == NULL) {
		python.PyErr_Print();
		snprintf(error, error_size, "godot.startup.%s failed; the traceback is above.", function);
	}
	bool done = result != NULL;
	python.Py_DecRef(result); /* null is allowed */
	python.Py_DecRef(startup);
	python.PyGILState_Release(gil);
	return done;
}
