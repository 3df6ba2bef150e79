"""LFM2: short convolutions, with attention in a few layers.

What is special:
  - a layer with 0 key/value heads convolves in place of attending: one product gives three parts,
    the first of which gates what goes into a causal convolution over a few tokens, the second what
    comes out
  - its state is the last inputs of that convolution, constant in the length of a text
  - attention has RMS norms on queries and on keys, and pairs the halves of a head
  - the norm before the output is named token_embd_norm; the output is tied to the embedding where
    the file has none
"""

from llm.files.model_file import ModelFile
from llm.gpu.program import Program
from llm.models.convolution_decoder import ConvolutionConfig, convolution_program
from llm.models.feed_forwards import GatedFeedForwards
from llm.models.weights import WeightTable


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for biases, further norms and unknown scalings of positions."""
    cfg = ConvolutionConfig.from_gguf(file, "lfm2")
    size = file.metadata.int("lfm2.feed_forward_length", minimum=1)
    table = WeightTable(file)
    feed_forwards = GatedFeedForwards(table, cfg.n_layers, cfg.width, size)
    return convolution_program(file, cfg, table, feed_forwards, context, max_rows, max_outputs)
