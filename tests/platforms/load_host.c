/* Loads the host, whose path is the only argument, as an engine does that has no function but print_error, which writes
 * to the standard output. */

#include <windows.h>

#include <shellapi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void (*Function)(void);

typedef struct {
	int minimum_level;
	void *userdata;
	void (*initialize)(void *userdata, int level);
	void (*deinitialize)(void *userdata, int level);
} Initialization;

typedef uint8_t (*Entry)(Function (*get)(const char *name), void *library, Initialization *initialization);

enum { SCENE = 2 };

static void print_error(const char *text, const char *function, const char *file, int32_t line, uint8_t notify) {
	(void)function, (void)file, (void)line, (void)notify;
	puts(text);
	fflush(stdout);
}

static Function get(const char *name) {
	return strcmp(name, "print_error") == 0 ? (Function)print_error : NULL;
}

int main(void) {
	int count;
	wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);
	HMODULE host = count == 2 ? LoadLibraryExW(words[1], NULL, 0) : NULL;
	if (host == NULL) {
		return 2;
	}
	Entry entry = (Entry)(void *)GetProcAddress(host, "llm_extension_init");
	Initialization made = { 0 };
	if (entry == NULL || !entry(get, NULL, &made)) {
		return 3;
	}
	made.initialize(made.userdata, SCENE);
	made.deinitialize(made.userdata, SCENE);
	return 0;
}
