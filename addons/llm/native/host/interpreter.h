#ifndef LLM_INTERPRETER_H
#define LLM_INTERPRETER_H

#include "runtime_config.h"

#include <stdbool.h>
#include <stddef.h>

/* Loads libpython and starts it, cut off from the user's own Python, then lets go of the GIL. Main thread, once.
 * On failure returns false, with the reason in `error`; there is nothing to undo. */
bool llm_interpreter_start(const LLMRuntimeConfig *config, char *error, size_t error_size);

/* Takes the GIL and calls godot.startup.`function`(level, get_proc_address, library, module). A Python exception
 * goes to the standard error stream with its traceback; then returns false, with a short reason in `error`. */
bool llm_interpreter_call(const char *function, int level, void *get_proc_address, void *library, const char *module,
		char *error, size_t error_size);

#endif
