#ifndef LLM_INTERFACE_COMPUTE_H
#define LLM_INTERFACE_COMPUTE_H

#include "values.h"

/* Everything below is also read by cffi: plain declarations only. */

/* Method bindings of RenderingDevice. */
typedef struct {
	GDExtensionMethodBindPtr begin;
	GDExtensionMethodBindPtr bind_pipeline;
	GDExtensionMethodBindPtr bind_uniform_set;
	GDExtensionMethodBindPtr set_push_constant;
	GDExtensionMethodBindPtr dispatch;
	GDExtensionMethodBindPtr add_barrier;
	GDExtensionMethodBindPtr end;
} ComputeMethods;

/* One dispatch. */
typedef struct {
	uint64_t pipeline; /* RIDs */
	uint64_t uniform_set; /* bound as set 0 */
	void *push_constant; /* a PackedByteArray, or null */
	int64_t push_constant_size; /* bytes */
	int64_t groups[3];
	int64_t barrier_before; /* this dispatch waits for those before it */
} ComputeRow;

/* Records all rows into one compute list. False where the device gave no list. */
bool compute_play(const ComputeMethods *methods, void *rendering_device, const ComputeRow *rows, int64_t count);

#endif
