"""Which tensors of a folder make which of GGUF's."""

import re
from collections.abc import Mapping
from typing import Any, Final

from llm.files.folder import mxfp4
from llm.files.folder.changes import AS_FLOAT32, Change
from llm.files.folder.config import Config
from llm.files.folder.float8 import SCALE_SUFFIXES, Scales
from llm.files.folder.safetensors import Stored
from llm.files.folder.views import Part, View, check_dtype

_PREFIXES: Final = ("model.language_model.", "language_model.model.", "language_model.")
_OTHER_SENSES: Final = re.compile(
    r"(model\.)?(vision_\w+|visual|audio_\w+|multi_modal_projector|embed_(vision|audio))\."
)
# Tables that every reader computes; scales of activations and of caches; what predicts several
# tokens at once; what BERT makes of its first row.
_NEEDLESS: Final = re.compile(
    r".*(rotary_emb\.inv_freq|position_ids|(?<!correct)[._](input|output|activation|k|v)_scale(_inv)?)"
    r"|(mtp|pooler|cls)\..*",
    re.DOTALL,
)
_BLOCK: Final = re.compile(r"\.(\d+)\.")
_STACKED: Final = re.compile(
    r"(.*\.experts|model\.altup_(?:unembed_)?projections)\.(\d{1,4})\.(.*)", re.DOTALL
)
_ALONE: Final = -1  # in place of an expert's number
# Small, and what it decides is not.
_ALL: Final = {"ffn_gate_inp.weight": AS_FLOAT32}
_UNCHANGED: Final = Change()


def views_of(stored: Mapping[str, Stored], config: Config) -> dict[str, View]:
    """The tensors by GGUF's names, or under their own where GGUF has none for the architecture.

    Where the output is the embedding, its matrix is left out, as GGUF does. Raises ModelFileError.
    """
    stored = {_short(name): tensor for name, tensor in stored.items()}
    groups: dict[str, dict[int, Part]] = {}
    for name, tensor in stored.items():
        if _is_left_out(name, stored) or (config.is_tied and name == "lm_head.weight"):
            continue
        one = _STACKED.fullmatch(name)
        key, number = (f"{one[1]}.{one[3]}", int(one[2])) if one else (name, _ALONE)
        groups.setdefault(key, {})[number] = _part(name, tensor, stored, config.block)
    names = _GgufNames(config)
    changes = _ALL | dict(config.family.changes(config.settings))
    views: dict[str, View] = {}
    for key, parts in groups.items():
        for name in names.of(key):
            if name in views:
                raise next(iter(parts.values())).stored.error(f"is there twice, as {name}")
            views[name] = _view(name, parts, changes)
    return views


def _short(name: str) -> str:
    """Without what models of several senses put before the names of their language model."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            return rest if rest.startswith("lm_head.") else f"model.{rest}"
    return name.removeprefix("bert.")


def _is_left_out(name: str, stored: Mapping[str, Stored]) -> bool:
    if _OTHER_SENSES.match(name) or _NEEDLESS.fullmatch(name):
        return True
    if any(
        name.endswith(suffix) and name.removesuffix(suffix) in stored for suffix in SCALE_SUFFIXES
    ):
        return True
    blocks, scales = mxfp4.SUFFIXES
    return name.endswith(scales) and name.removesuffix(scales) + blocks in stored


def _part(name: str, tensor: Stored, stored: Mapping[str, Stored], block: tuple[int, int]) -> Part:
    if 0 in tensor.shape:
        raise tensor.error(f"has the shape {tensor.shape}, which holds nothing")
    blocks, scales = mxfp4.SUFFIXES
    if tensor.dtype == "U8" and name.endswith(blocks):
        return _blocks(tensor, name.removesuffix(blocks) + scales, stored)
    check_dtype(tensor)
    if tensor.dtype != "F8_E4M3":
        return Part(tensor)
    if len(tensor.shape) != 2:
        raise tensor.error(f"is F8_E4M3 of {len(tensor.shape)} dimensions; matrices have 2")
    for suffix in SCALE_SUFFIXES:
        if name + suffix in stored:
            return Part(tensor, Scales.read(stored[name + suffix], tensor.shape, block))
    wanted = " or ".join(name + suffix for suffix in SCALE_SUFFIXES)
    raise tensor.error(f"is F8_E4M3, but {wanted} is missing")


def _blocks(tensor: Stored, scales: str, stored: Mapping[str, Stored]) -> Part:
    if scales not in stored:
        raise tensor.error(f"holds blocks of MXFP4, but {scales} is missing")
    exponents = stored[scales]
    wanted = (*exponents.shape, mxfp4.VALUES // 2)
    if exponents.dtype != "U8" or len(wanted) < 3 or tensor.shape != wanted:
        problem = f"{exponents.dtype} {exponents.shape} of {scales}"
        raise tensor.error(f"has the shape {tensor.shape}, which does not fit {problem}")
    return Part(tensor, exponents=exponents)


class _GgufNames:
    """What the tensors of a family are called in GGUF."""

    def __init__(self, config: Config) -> None:
        import gguf  # only folders need its tables

        known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
        architecture = known[config.family.architecture]
        # block 0 stands for all
        self._map: Any = gguf.get_tensor_name_map(architecture, 1)
        self._own = config.family.names

    def of(self, name: str) -> tuple[str, ...]:
        block = _BLOCK.search(name)
        if block is not None and name[block.end() :] in self._own:
            return tuple(f"blk.{block[1]}.{own}" for own in self._own[name[block.end() :]])
        plain = name if block is None else _BLOCK.sub(".0.", name, count=1)
        for tried in (plain, f"model.{plain}"):  # without a head some have no "model."
            found: str | None = self._map.get_name(tried, try_suffixes=(".weight", ".bias"))
            if found is not None:
                has_ending = found.endswith((".weight", ".bias", ".ssm_a"))
                whole = found if has_ending else f"{found}.weight"
                number = "0" if block is None else block[1]
                return (whole.replace("blk.0.", f"blk.{number}.", 1),)
        return (name,)


def _view(name: str, parts: Mapping[int, Part], changes: Mapping[str, Change]) -> View:
    ordered = tuple(parts[number] for number in sorted(parts))
    first = ordered[0].stored
    is_stack = _ALONE not in parts
    if is_stack and sorted(parts) != list(range(len(parts))):
        raise first.error(f"is one of {len(parts):,} experts, but not all up to {max(parts):,}")
    for part in ordered:
        if (part.stored.shape, part.stored.dtype) != (first.shape, first.dtype):
            problem = f"is {part.stored.dtype} {part.stored.shape}, the first is "
            raise part.stored.error(f"{problem}{first.dtype} {first.shape}")
    return View.make(name, ordered, _change(name, first, changes), is_stack=is_stack)


def _change(name: str, stored: Stored, changes: Mapping[str, Change]) -> Change:
    kind = re.sub(r"^blk\.\d+\.", "", name)
    if kind in changes:
        return changes[kind]
    is_norm = kind.endswith("norm.weight") and len(stored.shape) == 1
    return changes.get("norm.weight", _UNCHANGED) if is_norm else _UNCHANGED
