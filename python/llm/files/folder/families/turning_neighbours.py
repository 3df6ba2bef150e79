"""Families whose rotation turns halves of a head in a folder, and neighbours in GGUF: Llama and
what follows its plan, some with experts."""

from typing import Final

from llm.files.folder.changes import Change, half, halves_to_neighbours
from llm.files.folder.families.family import Changes, Family, head_size
from llm.files.metadata import Metadata


def _turned(config: Metadata) -> Changes:
    turned = Change(rows=halves_to_neighbours(head_size(config)))
    return {f"attn_{kind}.{ending}": turned for kind in "qk" for ending in ("weight", "bias")}


def _granitemoe(config: Metadata) -> Changes:
    return {
        **_turned(config),
        "ffn_gate_exps.weight": Change(rows=half(0)),
        "ffn_up_exps.weight": Change(rows=half(1)),
        "ffn_gate_shexp.weight": Change(rows=half(0)),
        "ffn_up_shexp.weight": Change(rows=half(1)),
    }


def _ministral(config: Metadata) -> dict[str, float]:
    rope = config.get("rope_parameters")
    rate = Metadata(rope if isinstance(rope, dict) else {}, config.path)
    return {"attention.temperature_scale": rate.float("llama_4_scaling_beta", 0.0)}


LLAMA: Final = Family("llama", changes=_turned)
GRANITE: Final = Family("granite", changes=_turned)
SMOLLM3: Final = Family("smollm3", changes=_turned, fixed={"no_rope_layer_interval": 4})
MINISTRAL: Final = Family("mistral3", changes=_turned, settings=_ministral)
GRANITEMOE: Final = Family(
    "granitemoe",
    changes=_granitemoe,
    names={
        "block_sparse_moe.input_linear.weight": ("ffn_gate_exps.weight", "ffn_up_exps.weight"),
        "shared_mlp.input_linear.weight": ("ffn_gate_shexp.weight", "ffn_up_shexp.weight"),
    },
)
