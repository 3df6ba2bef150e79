#include "../platform.h"

#include <windows.h>

#include <string.h>

enum { WIDE_SIZE = 4096 }; /* of UTF-16 */

/* Windows takes UTF-16, and where it loads libraries, only backslashes. */
static bool widen(const char *path, wchar_t wide[WIDE_SIZE]) {
	if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, WIDE_SIZE) == 0) {
		return false;
	}
	for (; *wide != L'\0'; wide++) {
		if (*wide == L'/') {
			*wide = L'\\';
		}
	}
	return true;
}

bool llm_platform_library_folder(char *folder, size_t size) {
	static const char anchor = 0; /* any address of this library */
	HMODULE library;
	wchar_t wide[WIDE_SIZE];
	const DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
	if (!GetModuleHandleExW(how, (const wchar_t *)&anchor, &library)) {
		return false;
	}
	const DWORD length = GetModuleFileNameW(library, wide, WIDE_SIZE);
	if (length == 0 || length == WIDE_SIZE) {
		return false;
	}
	/* Godot loads libraries by such names, where a slash would be part of a name. */
	const size_t prefix = wcsncmp(wide, L"\\\\?\\", 4) == 0 && wide[4] != L'\0' && wide[5] == L':' ? 4 : 0;
	if (WideCharToMultiByte(CP_UTF8, 0, wide + prefix, -1, folder, (int)size, NULL, NULL) == 0) {
		return false;
	}
	for (char *c = folder; *c != '\0'; c++) {
		if (*c == '\\') {
			*c = '/';
		}
	}
	char *end = strrchr(folder, '/');
	if (end == NULL || end == folder) {
		return false;
	}
	*end = '\0';
	return true;
}

bool llm_platform_is_absolute(const char *path) {
	return path[0] == '/' || path[0] == '\\' || (path[0] != '\0' && path[1] == ':');
}

void *llm_platform_open_global(const char *path) {
	/* Compiled modules find libpython by its name, once it is loaded. It finds the C runtime beside itself. */
	wchar_t wide[WIDE_SIZE];
	return widen(path, wide)
			? LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
			: NULL;
}

void *llm_platform_symbol(void *library, const char *name) {
	const FARPROC address = GetProcAddress(library, name);
	void *data = NULL;
	memcpy(&data, &address, sizeof(data));
	return data;
}

const char *llm_platform_error(void) {
	static char text[512];
	const DWORD code = GetLastError();
	wchar_t wide[256];
	const DWORD how = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
	const DWORD length = FormatMessageW(how, NULL, code, 0, wide, sizeof(wide) / sizeof(wide[0]), NULL);
	const int written = WideCharToMultiByte(CP_UTF8, 0, wide, (int)length, text, sizeof(text) - 1, NULL, NULL);
	text[written] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (text[0] == '\0') {
		snprintf(text, sizeof(text), "error %lu of Windows", code);
	}
	return text;
}

FILE *llm_platform_open_text(const char *path) {
	wchar_t wide[WIDE_SIZE];
	return widen(path, wide) ? _wfopen(wide, L"r") : NULL;
}
