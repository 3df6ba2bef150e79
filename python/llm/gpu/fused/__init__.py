"""Executors of fused steps: a dispatch each, or all in one."""
