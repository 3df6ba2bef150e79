"""Tapes in numpy: the executor, and what each operation does."""
