"""A token as fused steps, a dispatch each or all in one."""
