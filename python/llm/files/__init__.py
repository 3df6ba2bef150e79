"""Bytes on disk -> named tensors in their block formats.

formats    how large a block of each format is
cursor     checked reads from a mapped file
metadata   the key-value part, with typed getters
gguf       a whole file: metadata, tensors, their bytes
grids      tables that the weights of some formats are entries of
repack     block formats -> the aligned planes that kernels read
mapping    paths and first bytes; wording: how messages show names and sizes
"""
