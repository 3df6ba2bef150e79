"""gpt-oss: gates and ups of experts lie row by row between one another, in MXFP4 or, with rows as
columns, in BF16."""

from collections.abc import Mapping
from typing import Any, Final

from llm.files.folder.changes import Change, every_second
from llm.files.folder.families.family import Changes, Family
from llm.files.metadata import Metadata

_BOTH = ("ffn_gate_exps", "ffn_up_exps")
_KINDS = {"gate_up_proj": _BOTH, "down_proj": ("ffn_down_exps",)}


def _names() -> dict[str, tuple[str, ...]]:
    found = {}
    for theirs, ours in _KINDS.items():
        found[f"mlp.experts.{theirs}_bias"] = tuple(f"{name}.bias" for name in ours)
        for ending in ("", "_blocks"):
            found[f"mlp.experts.{theirs}{ending}"] = tuple(f"{name}.weight" for name in ours)
    return found


def _changes(_config: Metadata) -> Changes:
    changes = {"ffn_down_exps.weight": Change(is_transposed=True)}
    for first, name in enumerate(_BOTH):
        order = every_second(first)
        changes[f"{name}.weight"] = Change(rows=order, is_transposed=True)
        changes[f"{name}.bias"] = Change(rows=order)
    return changes


def _settings(config: Metadata) -> Mapping[str, Any]:
    return {"expert_feed_forward_length": config.int("intermediate_size")}


GPT_OSS: Final = Family(
    "gpt-oss",
    fixed={"swiglu_limit": 7.0, "swiglu_alpha": 1.702},
    settings=_settings,
    changes=_changes,
    names=_names(),
)
