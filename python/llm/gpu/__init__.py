"""A tape of operations, and the executors that run it."""
