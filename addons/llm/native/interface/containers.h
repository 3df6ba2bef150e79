#ifndef LLM_INTERFACE_CONTAINERS_H
#define LLM_INTERFACE_CONTAINERS_H

#include "values.h"

/* Everything below is also read by cffi: plain declarations only. */

/* Fetches the built-in methods `size`, and `resize` (of a Dictionary: `keys`), of a container type.
 * Null, or the names of what this engine lacks. */
const char *container_load(int32_t type, int64_t size_hash, int64_t change_hash);

/* Of an Array, a Dictionary or a packed array. */
int64_t container_size(int32_t type, const void *container);
void container_resize(int32_t type, void *container, int64_t size);

/* `array`, `dictionary` and `strings` are slots; a dictionary's values alternate: key, value, key, value … */
void array_fill(void *array, Value *values, int64_t count);
void array_read(const void *array, int64_t count, Value *values);
void dictionary_fill(void *dictionary, Value *values, int64_t count);
void dictionary_read(const void *dictionary, int64_t count, Value *values);
void packed_strings_fill(void *strings, Value *values, int64_t count);
void packed_strings_read(const void *strings, int64_t count, Value *values);

#endif
