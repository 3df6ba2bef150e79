#ifndef LLM_PLATFORM_H
#define LLM_PLATFORM_H

/* What differs between systems, in posix/ and windows/. Paths are UTF-8, with slashes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the folder that holds this library, without a slash at its end. False where the name does not fit. */
bool llm_platform_library_folder(char *folder, size_t size);

bool llm_platform_is_absolute(const char *path);

/* Loads a shared library so that libraries loaded later can use its symbols. Null on failure;
 * llm_platform_error() then says why. It is never unloaded. */
void *llm_platform_open_global(const char *path);

/* The address of a symbol, or null. */
void *llm_platform_symbol(void *library, const char *name);

const char *llm_platform_error(void);

/* Opens a file to read; null where there is none. */
FILE *llm_platform_open_text(const char *path);

#endif
