"""Qwen3 Next, such as 80B-A3B: gated DeltaNet, gated attention and experts.

What is special:
  - the layers are those of qwen35.py. Value head h of the delta rule has the key head
    h // (value heads / key heads); what drives its decay and its writing comes of one product
  - the feed-forward of every layer is experts, of which a token uses some, and one that all use, by
    the sigmoid of a product of its own (shared_experts.py)
"""

from llm.files.model_file import ModelFile
from llm.gpu.operations import HeadMapping
from llm.gpu.program import Program
from llm.models.delta_decoder import DeltaConfig, delta_program
from llm.models.shared_experts import SharedExpertFeedForwards
from llm.models.weights import WeightTable


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for more experts than the kernels choose from, biases, further norms and
    unknown scalings of positions."""
    cfg = DeltaConfig.from_gguf(file, "qwen3next", HeadMapping.GROUPED)
    table = WeightTable(file)
    experts = SharedExpertFeedForwards(file, table, "qwen3next", cfg.n_layers, cfg.width)
    return delta_program(file, cfg, table, experts, context, max_rows, max_outputs)
