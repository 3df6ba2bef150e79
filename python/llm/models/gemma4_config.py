"""What the metadata of a Gemma 4 file say, checked.

Letters as in gemma4.py.
"""

from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.models.experts import ExpertSizes

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel


@dataclass(frozen=True, slots=True)
class LayerConfig:
    head_size: int  # D
    kv_heads: int  # G
    feed_forward: int  # F
    window: int  # tokens that it sees; 0: all
    cells_of: int  # the layer whose keys and values it reads: itself, or one before it

    @property
    def keys_width(self) -> int:
        return self.kv_heads * self.head_size  # G*D


@dataclass(frozen=True, slots=True)
class Gemma4Config:
    width: int  # C
    n_heads: int  # H
    layer_width: int  # P; 0: no per-layer embeddings
    norm_eps: float
    rope_base: float  # of layers that see everything
    window_rope_base: float
    soft_cap: float  # of the logits; 0: none
    layers: tuple[LayerConfig, ...]
    experts: ExpertSizes | None  # of every layer

    @classmethod
    def from_gguf(cls, file: ModelFile) -> "Gemma4Config":
        meta = file.metadata
        has_experts = meta.int("gemma4.expert_count", default=0) > 0
        n_layers = meta.int("gemma4.block_count", minimum=1)
        config = cls(
            width=meta.int("gemma4.embedding_length", minimum=1),
            n_heads=meta.int("gemma4.attention.head_count", minimum=1),
            layer_width=meta.int("gemma4.embedding_length_per_layer_input", default=0),
            norm_eps=meta.float("gemma4.attention.layer_norm_rms_epsilon"),
            rope_base=meta.float("gemma4.rope.freq_base", default=1_000_000.0),
            window_rope_base=meta.float("gemma4.rope.freq_base_swa", default=10_000.0),
            soft_cap=meta.float("gemma4.final_logit_softcapping", default=0.0),
            layers=_layers(file, n_layers),
            experts=ExpertSizes.from_gguf(file, "gemma4") if has_experts else None,
        )
        config._check(file)
        return config

    def _check(self, file: ModelFile) -> None:
        for layer in self.layers:
            if self.n_heads % layer.kv_heads:
                problem = (
                    f"{self.n_heads} heads do not share {layer.kv_heads} key/value heads evenly"
                )
                raise ModelFileError(file.path, "gemma4.attention.head_count", problem)
            kind = "_swa" if layer.window else ""
            if layer.head_size % 8 or layer.head_size > MAX_HEAD_SIZE:
                problem = f"{layer.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
                raise ModelFileError(file.path, f"gemma4.attention.key_length{kind}", problem)
            key = f"gemma4.rope.dimension_count{kind}"
            turned = file.metadata.int(key, default=layer.head_size)
            if turned != layer.head_size:
                problem = f"{turned} is not {layer.head_size}, the size of the heads"
                raise ModelFileError(file.path, key, problem)
            shared = self.layers[layer.cells_of]
            if layer.keys_width != shared.keys_width:
                problem = f"{layer.keys_width} values of a layer that reads {shared.keys_width}"
                raise ModelFileError(file.path, "gemma4.attention.head_count_kv", problem)
        for key, number in (
            ("attention.layer_norm_rms_epsilon", self.norm_eps),
            ("rope.freq_base", self.rope_base),
            ("rope.freq_base_swa", self.window_rope_base),
        ):
            if number <= 0:
                raise ModelFileError(file.path, f"gemma4.{key}", f"{number} is not above 0")
        if self.soft_cap < 0:
            problem = f"{self.soft_cap} is not >= 0"
            raise ModelFileError(file.path, "gemma4.final_logit_softcapping", problem)


def _layers(file: ModelFile, count: int) -> tuple[LayerConfig, ...]:
    meta = file.metadata
    kv_heads = _sizes(file, "gemma4.attention.head_count_kv", count)
    feed_forward = _sizes(file, "gemma4.feed_forward_length", count)
    pattern = meta.numbers("gemma4.attention.sliding_window_pattern").tolist()
    if len(pattern) != count:
        problem = f"has {len(pattern)} layers, but there are {count}"
        raise ModelFileError(file.path, "gemma4.attention.sliding_window_pattern", problem)
    window = meta.int("gemma4.attention.sliding_window", minimum=1)
    sizes = [
        meta.int(f"gemma4.attention.key_length{kind}", minimum=1) for kind in ("", "_swa")
    ]  # by whether a window slides
    shared = meta.int("gemma4.attention.shared_kv_layers", default=0)
    cells_of: dict[bool, int] = {}  # by the same, the last layer that has some
    layers = []
    for layer, slides in enumerate(map(bool, pattern)):
        if layer < count - shared:
            cells_of[slides] = layer
        elif slides not in cells_of:
            problem = f"{shared} leaves layer {layer} no layer of its kind to share with"
            raise ModelFileError(file.path, "gemma4.attention.shared_kv_layers", problem)
        layers.append(
            LayerConfig(
                head_size=sizes[slides],
                kv_heads=kv_heads[layer],
                feed_forward=feed_forward[layer],
                window=window if slides else 0,
                cells_of=cells_of[slides],
            )
        )
    return tuple(layers)


def _sizes(file: ModelFile, key: str, count: int) -> list[int]:
    """A size of each layer, where the file may hold one for all."""
    if isinstance(file.metadata.get(key), int):
        return [file.metadata.int(key, minimum=1)] * count
    sizes = [int(size) for size in file.metadata.numbers(key)]
    if len(sizes) != count or min(sizes) < 1:
        problem = (
            f"{len(sizes)} numbers from {min(sizes, default=0)} on; {count} from 1 on are needed"
        )
        raise ModelFileError(file.path, key, problem)
    return sizes
