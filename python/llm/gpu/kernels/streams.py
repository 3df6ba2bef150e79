"""Kernels of operations on several residual streams."""

from llm.gpu.kernels.kernel import Kernel

MOST_STREAMS = 8

STREAM_KERNELS = {
    "combine": Kernel(
        "combine.comp",
        64,
        {
            "x": "I",
            "other": "I",
            "y": "I",
            "x_stride": "I",
            "other_stride": "I",
            "y_stride": "I",
            "weight": "I",
            "width": "I",
            "factor": "f",
            "scale": "f",
            "count_at": "I",
        },
    ),
    "rescale": Kernel(
        "rescale.comp",
        128,
        {
            "x": "I",
            "like": "I",
            "y": "I",
            "x_stride": "I",
            "like_stride": "I",
            "y_stride": "I",
            "width": "I",
        },
    ),
    "mix_streams": Kernel(
        "mix_streams.comp",
        64,
        {
            "weight": "I",
            "router": "I",
            "x": "I",
            "z": "I",
            "y": "I",
            "streams": "I",
            "mixed": "I",
            "width": "I",
            "bias": "f",
        },
        {"MOST_STREAMS": MOST_STREAMS},
    ),
    "sparsify": Kernel("sparsify.comp", 128, {"x": "I", "width": "I", "factor": "f"}),
}
