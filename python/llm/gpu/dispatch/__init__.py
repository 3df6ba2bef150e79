"""One compute dispatch for each operation of a tape."""
