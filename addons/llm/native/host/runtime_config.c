#include "runtime_config.h"

#include "platform.h"

#include <stdio.h>
#include <string.h>

#define MADE_ANEW "Install the add-on again; in a checkout run `./llm setup`."

static char *trim(char *text) {
	text += strspn(text, " \t\r\n");
	size_t length = strlen(text);
	while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
		length--;
	}
	text[length] = '\0';
	return text;
}

/* Leading `./` and `../` are folded away, so that Python's tracebacks show short paths. */
static bool store_path(char *target, const char *folder, const char *value) {
	int length = 0;
	if (llm_platform_is_absolute(value)) {
		length = snprintf(target, LLM_PATH_SIZE, "%s", value);
	} else {
		int kept = (int)strlen(folder);
		for (;;) {
			if (strncmp(value, "../", 3) == 0 && kept > 0) {
				value += 3;
				while (kept > 0 && folder[--kept] != '/') {
				}
			} else if (strncmp(value, "./", 2) == 0) {
				value += 2;
			} else {
				break;
			}
		}
		bool is_folder_itself = strcmp(value, ".") == 0;
		length = snprintf(target, LLM_PATH_SIZE, "%.*s%s%s", kept, folder, is_folder_itself ? "" : "/", is_folder_itself ? "" : value);
	}
	return length > 0 && length < LLM_PATH_SIZE;
}

static bool store(LLMRuntimeConfig *config, const char *folder, const char *key, const char *value) {
	if (strcmp(key, "library") == 0) {
		return store_path(config->library, folder, value);
	}
	if (strcmp(key, "home") == 0) {
		return store_path(config->home, folder, value);
	}
	if (strcmp(key, "path") == 0) {
		return config->path_count < LLM_MAX_PATHS && store_path(config->paths[config->path_count++], folder, value);
	}
	if (strcmp(key, "module") == 0) {
		int length = snprintf(config->module, LLM_MODULE_SIZE, "%s", value);
		return length >= 0 && length < LLM_MODULE_SIZE;
	}
	return false;
}

static bool read_file(LLMRuntimeConfig *config, FILE *file, const char *folder, const char *name, char *error, size_t error_size) {
	bool done = true;
	char line[LLM_PATH_SIZE + 64];
	for (int number = 1; done && fgets(line, sizeof(line), file) != NULL; number++) {
		char *key = trim(line);
		if (key[0] == '\0' || key[0] == '#') {
			continue;
		}
		char *equals = strchr(key, '=');
		if (equals != NULL) {
			*equals = '\0';
		}
		if (equals == NULL || !store(config, folder, trim(key), trim(equals + 1))) {
			snprintf(error, error_size,
					"%s:%d: expected `library`, `home`, `path` (at most %d) or `module`, then `= value`. " MADE_ANEW,
					name, number, LLM_MAX_PATHS);
			done = false;
		}
	}
	if (done && (config->library[0] == '\0' || config->home[0] == '\0' || config->path_count == 0)) {
		snprintf(error, error_size, "%s: `library`, `home` and `path` must all be there. " MADE_ANEW, name);
		done = false;
	}
	return done;
}

bool llm_runtime_config_read(LLMRuntimeConfig *config, const char *folder, char *error, size_t error_size) {
	memset(config, 0, sizeof(*config));
	/* Beside the library it names the places of a checkout; what was installed or exported has a runtime of its own. */
	const char *const inner[] = { "", "/" LLM_RUNTIME };
	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		char place[LLM_PATH_SIZE + sizeof("/" LLM_RUNTIME)];
		char name[sizeof(place) + sizeof("/runtime.cfg")];
		snprintf(place, sizeof(place), "%s%s", folder, inner[i]);
		snprintf(name, sizeof(name), "%s/runtime.cfg", place);
		FILE *file = llm_platform_open_text(name);
		if (file != NULL) {
			bool done = read_file(config, file, place, name, error, error_size);
			fclose(file);
			return done;
		}
	}
	snprintf(error, error_size,
			"there is no folder " LLM_RUNTIME " in %s. A game needs it there: export with the LLM plugin enabled. In a checkout run `./llm setup`.", folder);
	return false;
}
