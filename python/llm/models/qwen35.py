"""Qwen3.5, dense: gated DeltaNet, with gated attention in every fourth layer.

What is special:
  - most layers have a matrix for each head in place of cells (delta_net.py), constant in the length
    of a text. Value head h of such a layer has the key head h % key heads
  - the others attend, gated by a sigmoid, and turn a part of each head (gated_attention.py)
  - text has the same position in all sections of the rotation, which is then the usual one
  - a gated feed-forward with SiLU; the norm before it is named post_attention_norm
  - converters bake "+ 1" into the stored norm weights, but for that of what the matrices give
  - further blocks, which predict several tokens, are left alone
"""

from llm.files.model_file import ModelFile
from llm.gpu.operations import HeadMapping
from llm.gpu.program import Program
from llm.models.delta_decoder import DeltaConfig, delta_program
from llm.models.feed_forwards import GatedFeedForwards
from llm.models.rope import check_sections
from llm.models.weights import WeightTable


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for biases, further norms and unknown scalings of positions."""
    check_sections(file, "qwen35")
    cfg = DeltaConfig.from_gguf(file, "qwen35", HeadMapping.TILED)
    size = file.metadata.int("qwen35.feed_forward_length", minimum=1)
    table = WeightTable(file)
    feed_forwards = GatedFeedForwards(table, cfg.n_layers, cfg.width, size)
    return delta_program(file, cfg, table, feed_forwards, context, max_rows, max_outputs)
