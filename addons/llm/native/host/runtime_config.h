#ifndef LLM_RUNTIME_CONFIG_H
#define LLM_RUNTIME_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

enum {
	LLM_PATH_SIZE = 4096,
	LLM_MAX_PATHS = 16,
	LLM_MODULE_SIZE = 256,
};

/* Which Python to run. Every path is absolute once read. */
typedef struct {
	char library[LLM_PATH_SIZE]; /* libpython */
	char home[LLM_PATH_SIZE]; /* the prefix that holds the standard library */
	char paths[LLM_MAX_PATHS][LLM_PATH_SIZE]; /* sys.path, in order */
	size_t path_count;
	char module[LLM_MODULE_SIZE]; /* imported once the engine's classes are there; may be empty */
} LLMRuntimeConfig;

/* Reads runtime.cfg in `folder`, or else in its folder LLM_RUNTIME, such as llm.linux.x86_64: lines of `key = value`,
 * `#` starts a comment line, relative paths start at the folder of the file. On failure returns false, with the reason
 * in `error`. */
bool llm_runtime_config_read(LLMRuntimeConfig *config, const char *folder, char *error, size_t error_size);

#endif
