/* The dispatch loop: a table of rows -> one compute list, without Python in between. */

#include "compute.h"

#include "interface_calls.h"

bool compute_play(const ComputeMethods *methods, void *device, const ComputeRow *rows, int64_t count) {
	int64_t list = -1;
	object_method_bind_ptrcall(methods->begin, device, NULL, &list);
	if (list < 0) {
		return false;
	}
	const int64_t set_index = 0;
	uint64_t pipeline = 0;
	uint64_t uniform_set = 0;
	for (int64_t i = 0; i < count; i++) {
		const ComputeRow *row = &rows[i];
		if (row->barrier_before && i > 0) {
			/* The engine ends the list and begins another with everything still bound. */
			object_method_bind_ptrcall(methods->add_barrier, device, (GDExtensionConstTypePtr[]){ &list }, NULL);
		}
		if (row->pipeline != pipeline) {
			pipeline = row->pipeline;
			object_method_bind_ptrcall(methods->bind_pipeline, device, (GDExtensionConstTypePtr[]){ &list, &row->pipeline }, NULL);
		}
		if (row->uniform_set != uniform_set) {
			uniform_set = row->uniform_set;
			object_method_bind_ptrcall(methods->bind_uniform_set, device, (GDExtensionConstTypePtr[]){ &list, &row->uniform_set, &set_index }, NULL);
		}
		if (row->push_constant != NULL) {
			object_method_bind_ptrcall(methods->set_push_constant, device, (GDExtensionConstTypePtr[]){ &list, row->push_constant, &row->push_constant_size }, NULL);
		}
		object_method_bind_ptrcall(methods->dispatch, device, (GDExtensionConstTypePtr[]){ &list, &row->groups[0], &row->groups[1], &row->groups[2] }, NULL);
	}
	object_method_bind_ptrcall(methods->end, device, NULL, NULL);
	return true;
}
