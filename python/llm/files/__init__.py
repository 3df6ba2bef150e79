"""Bytes on disk -> named tensors in their block formats.

opening     a model by its path, whatever it is
model_file  what every kind of model gives: metadata, tensors, their rows
gguf        a GGUF file; split_gguf, several that are one model
folder      a Hugging Face folder, shown under GGUF's names
quantized   another file, its float matrices quantised while they are read; q4_k, one of the formats
metadata    the key-value part, with typed getters
cursor      checked reads from a mapped file
formats     how large a block of each format is
grids       tables that the weights of some formats are entries of
repack      block formats -> the aligned planes that kernels read
mapping     paths and first bytes; pack, files inside a game's pack
wording     how messages show names and sizes
"""
