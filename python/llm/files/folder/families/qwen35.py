"""Qwen3.5: value heads lie by their key heads in a folder, and by turns in GGUF, so that value head
h has key head h % key heads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.folder.changes import (
    PLUS_ONE,
    Change,
    Numbers,
    Order,
    negative_exponential,
    one_channel,
)
from llm.files.folder.families.family import Changes, Family, layer_types
from llm.files.metadata import Metadata


@dataclass(frozen=True, slots=True)
class _Heads:
    count: int
    key_count: int
    size: int

    @classmethod
    def read(cls, config: Metadata) -> "_Heads":
        size = config.int("linear_key_head_dim", minimum=1)
        count, key_count = (
            config.int(f"linear_num_{kind}_heads", minimum=1) for kind in ("value", "key")
        )
        if config.int("linear_value_head_dim", size) != size:
            problem = f"is not linear_key_head_dim, {size:,}"
            raise ModelFileError(config.path, "linear_value_head_dim", problem)
        if count % key_count:
            problem = f"is {count:,}, which is no multiple of {key_count:,} key heads"
            raise ModelFileError(config.path, "linear_num_value_heads", problem)
        return cls(count, key_count, size)

    def by_turns(self, size: int, first: int = 0) -> Order:
        """Of rows that are `size` for each value head, from the first one on."""

        def order(rows: Numbers) -> Numbers:
            values = rows[first:]
            if rows.ndim != 1 or len(values) != self.count * size:
                problem = f"has a side of {rows.size:,}, not {first + self.count * size:,}"
                raise ValueError(f"{problem}, as the heads in config.json need")
            heads = values.reshape(self.key_count, -1, size).swapaxes(0, 1)
            return np.concatenate((rows[:first], heads.reshape(-1)))

        return order


def _changes(config: Metadata) -> Changes:
    heads = _Heads.read(config)
    of_values, of_heads = heads.by_turns(heads.size), heads.by_turns(1)
    convolved = heads.by_turns(heads.size, 2 * heads.key_count * heads.size)
    return {
        "norm.weight": PLUS_ONE,
        "ssm_norm.weight": Change(),
        "attn_qkv.weight": Change(rows=convolved),
        "attn_gate.weight": Change(rows=of_values),
        "ssm_alpha.weight": Change(rows=of_heads),
        "ssm_beta.weight": Change(rows=of_heads),
        "ssm_a": Change(rows=of_heads, values=negative_exponential),
        "ssm_dt.bias": Change(rows=of_heads),
        "ssm_conv1d.weight": Change(
            rows=lambda rows: convolved(one_channel(rows)), is_float32=True
        ),
        "ssm_out.weight": Change(columns=of_values),
    }


def _settings(config: Metadata) -> Mapping[str, Any]:
    heads = _Heads.read(config)
    kinds = layer_types(config)
    found = kinds.index("full_attention") + 1 if "full_attention" in kinds else 4
    interval = config.int("full_attention_interval", found, minimum=1)
    attends = [n % interval == interval - 1 for n in range(len(kinds))]
    if attends != [kind == "full_attention" for kind in kinds]:
        wanted = [f"full_attention in every layer of {interval}"]
        raise UnsupportedModelError(config.path, "layer_types", "irregular", wanted)
    return {
        "full_attention_interval": interval,
        "ssm.conv_kernel": config.int("linear_conv_kernel_dim"),
        "ssm.state_size": heads.size,
        "ssm.group_count": heads.key_count,
        "ssm.time_step_rank": heads.count,
        "ssm.inner_size": heads.count * heads.size,
    }


QWEN3_5: Final = Family(
    "qwen35",
    usual={"head_dim": 256, "partial_rotary_factor": 0.25},
    settings=_settings,
    changes=_changes,
    names={"linear_attn.dt_bias": ("ssm_dt.bias",)},
)
