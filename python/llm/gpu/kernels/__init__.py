"""The kernels: their variants, sizes and source."""
