"""Which tensors of a folder make which of GGUF's, and what is done to them on the way."""

import re
from collections.abc import Mapping
from typing import Any, Final

from llm.files.folder.float8 import SCALE_SUFFIXES, Scales
from llm.files.folder.safetensors import Stored
from llm.files.folder.views import F32, Part, View, format_of
from llm.files.metadata import Metadata
from llm.files.model_file import TensorInfo

# Architectures whose rotation turns neighbours in GGUF, and halves of a head in a folder.
_TURN_NEIGHBOURS: Final = {"granite", "llama", "smollm3"}
_ADD_ONE_TO_NORMS: Final = {"gemma", "gemma2", "gemma3"}

_PREFIXES: Final = ("model.language_model.", "language_model.model.", "language_model.")
_OTHER_SENSES: Final = re.compile(
    r"(model\.)?(vision_\w+|visual|audio_\w+|multi_modal_projector|embed_(vision|audio))\."
)
# Tables that every reader computes; scales of activations and of caches.
_NEEDLESS: Final = re.compile(
    r".*(rotary_emb\.inv_freq|[._](input|output|activation|k|v)_scale(_inv)?)", re.DOTALL
)
_BLOCK: Final = re.compile(r"\.(\d+)\.")
_EXPERT: Final = re.compile(r"(.*\.experts)\.(\d{1,4})\.(.*)", re.DOTALL)
_ALONE: Final = -1  # in place of an expert's number


def views_of(
    stored: Mapping[str, Stored], metadata: Metadata, *, is_tied: bool, block: tuple[int, int]
) -> dict[str, View]:
    """The tensors by GGUF's names, or under their own where GGUF has none for the architecture.

    `is_tied` leaves the output matrix out, as GGUF does where it is the embedding; `block` is the
    size of the blocks of 8-bit floats that have a scale each. Raises ModelFileError.
    """
    stored = {_short(name): tensor for name, tensor in stored.items()}
    groups: dict[str, dict[int, Part]] = {}
    for name, tensor in stored.items():
        if _is_left_out(name, stored) or (is_tied and name == "lm_head.weight"):
            continue
        expert = _EXPERT.fullmatch(name)
        key, number = (f"{expert[1]}.{expert[3]}", int(expert[2])) if expert else (name, _ALONE)
        groups.setdefault(key, {})[number] = _part(name, tensor, stored, block)
    names = _GgufNames(metadata.str("general.architecture"))
    views: dict[str, View] = {}
    for key, parts in groups.items():
        name = names.of(key)
        if name in views:
            raise next(iter(parts.values())).stored.error(f"is there twice, as {name}")
        views[name] = _view(name, parts, metadata)
    return views


def _short(name: str) -> str:
    """Without what models of several senses put before the names of their language model."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            return rest if rest.startswith("lm_head.") else f"model.{rest}"
    return name


def _is_left_out(name: str, stored: Mapping[str, Stored]) -> bool:
    if _OTHER_SENSES.match(name) or _NEEDLESS.fullmatch(name):
        return True
    return any(
        name.endswith(suffix) and name.removesuffix(suffix) in stored for suffix in SCALE_SUFFIXES
    )


def _part(name: str, tensor: Stored, stored: Mapping[str, Stored], block: tuple[int, int]) -> Part:
    if 0 in tensor.shape:
        raise tensor.error(f"has the shape {tensor.shape}, which holds nothing")
    if tensor.dtype != "F8_E4M3":
        return Part(tensor)
    if len(tensor.shape) != 2:
        raise tensor.error(f"is F8_E4M3 of {len(tensor.shape)} dimensions; matrices have 2")
    for suffix in SCALE_SUFFIXES:
        if name + suffix in stored:
            return Part(tensor, Scales.read(stored[name + suffix], tensor.shape, block))
    wanted = " or ".join(name + suffix for suffix in SCALE_SUFFIXES)
    raise tensor.error(f"is F8_E4M3, but {wanted} is missing")


class _GgufNames:
    """What the tensors of an architecture are called in GGUF."""

    def __init__(self, architecture: str) -> None:
        import gguf  # only folders need its tables

        known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
        self._map: Any = None
        if architecture in known:
            self._map = gguf.get_tensor_name_map(known[architecture], 1)  # block 0 stands for all

    def of(self, name: str) -> str:
        block = _BLOCK.search(name)
        if self._map is None:
            return name
        plain = name if block is None else _BLOCK.sub(".0.", name, count=1)
        for tried in (plain, f"model.{plain}"):  # without a head some have no "model."
            found: str | None = self._map.get_name(tried, try_suffixes=(".weight", ".bias"))
            if found is not None:
                return found if block is None else found.replace("blk.0.", f"blk.{block[1]}.", 1)
        return name


def _view(name: str, parts: Mapping[int, Part], metadata: Metadata) -> View:
    ordered = tuple(parts[number] for number in sorted(parts))
    first = ordered[0].stored
    shape = first.shape
    if _ALONE not in parts:
        if sorted(parts) != list(range(len(parts))):
            raise first.error(f"is one of {len(parts):,} experts, but not all up to {max(parts):,}")
        shape = (len(parts), *shape)
    for part in ordered:
        if (part.stored.shape, part.stored.dtype) != (first.shape, first.dtype):
            problem = f"is {part.stored.dtype} {part.stored.shape}, the first is "
            raise part.stored.error(f"{problem}{first.dtype} {first.shape}")
    architecture = metadata.str("general.architecture")
    is_norm = name.endswith("norm.weight") and len(shape) == 1
    is_router = name.endswith("ffn_gate_inp.weight")  # small, and what it decides is not
    return View(
        TensorInfo(name, shape, F32 if is_router else format_of(first)),
        ordered,
        _rotated_head_size(name, first, metadata) if architecture in _TURN_NEIGHBOURS else 0,
        1.0 if is_norm and architecture in _ADD_ONE_TO_NORMS else 0.0,
    )


def _rotated_head_size(name: str, stored: Stored, metadata: Metadata) -> int:
    """0 unless its rows are those of queries or keys."""
    if not re.fullmatch(r"blk\.\d+\.attn_[qk]\.(weight|bias)", name):
        return 0
    size = metadata.int(f"{metadata.str('general.architecture')}.attention.key_length")
    rows = stored.shape[0]
    if not size or size % 2 or rows % size:
        raise stored.error(f"has {rows:,} rows, which are not heads of {size:,}, an even number")
    return size
