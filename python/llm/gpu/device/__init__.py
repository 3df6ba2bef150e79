"""The GPU: its buffers, what it can, and the weights on it."""
