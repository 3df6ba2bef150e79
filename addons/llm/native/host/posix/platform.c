#define _GNU_SOURCE

#include "../platform.h"

#include <dlfcn.h>
#include <string.h>

bool llm_platform_library_folder(char *folder, size_t size) {
	Dl_info info;
	static const char anchor = 0; /* any address of this library */
	if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL) {
		return false;
	}
	const char *end = strrchr(info.dli_fname, '/');
	size_t length = end == NULL ? 0 : (size_t)(end - info.dli_fname);
	if (length == 0 || length >= size) {
		return false;
	}
	memcpy(folder, info.dli_fname, length);
	folder[length] = '\0';
	return true;
}

bool llm_platform_is_absolute(const char *path) {
	return path[0] == '/';
}

void *llm_platform_open_global(const char *path) {
	/* Global, because compiled modules (numpy, lib-dynload) expect the symbols of libpython to be there. */
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

void *llm_platform_symbol(void *library, const char *name) {
	return dlsym(library, name);
}

const char *llm_platform_error(void) {
	const char *text = dlerror();
	return text == NULL ? "no reason given" : text;
}

FILE *llm_platform_open_text(const char *path) {
	return fopen(path, "r");
}
