"""The models that are measured: shapes and block formats of real ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# Formats of even and of odd layers, where they differ.
Formats = tuple[str, str]


@dataclass(frozen=True)
class Shape:
    """Sizes as GGUF's keys name them; `formats` by the kind of matrix."""

    name: str
    architecture: str
    layers: int
    width: int
    feed_forward: int  # of an expert, where there are experts
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    context: int
    rope_base: float
    formats: Mapping[str, str | Formats]
    positions: tuple[int, ...]  # tokens before the answers that are measured
    experts: int = 0
    used_experts: int = 0  # by a token

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Name, shape as numpy has it (rows, columns), and format of every tensor."""
        yield "token_embd.weight", (self.vocabulary, self.width), self._format("token_embd", 0)
        if "output" in self.formats:
            yield "output.weight", (self.vocabulary, self.width), self._format("output", 0)
        yield "output_norm.weight", (self.width,), "f32"
        for layer in range(self.layers):
            for kind, shape in self._block():
                block_format = "f32" if len(shape) == 1 else self._format(kind, layer)
                yield f"blk.{layer}.{kind}.weight", shape, block_format

    def _block(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        queries, keys = self.heads * self.head_size, self.kv_heads * self.head_size
        norms = {"attn_norm": self.width, "ffn_norm": self.width}
        if self.architecture != "llama":
            norms |= {"attn_q_norm": self.head_size, "attn_k_norm": self.head_size}
        if self.architecture == "gemma3":
            norms |= {"post_attention_norm": self.width, "post_ffw_norm": self.width}
        for kind, size in norms.items():
            yield kind, (size,)
        yield "attn_q", (queries, self.width)
        yield "attn_k", (keys, self.width)
        yield "attn_v", (keys, self.width)
        yield "attn_output", (self.width, queries)
        gate, down = (self.feed_forward, self.width), (self.width, self.feed_forward)
        if self.experts:
            yield "ffn_gate_inp", (self.experts, self.width)
        for kind, sizes in (("ffn_gate", gate), ("ffn_up", gate), ("ffn_down", down)):
            yield (f"{kind}_exps", (self.experts, *sizes)) if self.experts else (kind, sizes)

    def _format(self, kind: str, layer: int) -> str:
        found = self.formats[kind]
        return found if isinstance(found, str) else found[layer % 2]


# llama.cpp's Q4_K_M: rows of 640 do not divide into blocks of 256, so Gemma has some of 32.
_GEMMA: dict[str, str | Formats] = {
    "token_embd": "q8_0",
    "attn_q": "q5_0",
    "attn_k": "q5_0",
    "attn_v": "q8_0",
    "attn_output": "q4_k",
    "ffn_gate": "q5_0",
    "ffn_up": "q5_0",
    "ffn_down": ("q4_k", "q6_k"),
}
_LLAMA: dict[str, str | Formats] = {
    "token_embd": "q4_k",
    "output": "q6_k",
    "attn_q": "q4_k",
    "attn_k": "q4_k",
    "attn_v": ("q4_k", "q6_k"),
    "attn_output": "q4_k",
    "ffn_gate": "q4_k",
    "ffn_up": "q4_k",
    "ffn_down": ("q4_k", "q6_k"),
}

_EXPERTS: dict[str, str | Formats] = {
    **{kind: found for kind, found in _LLAMA.items() if not kind.startswith("ffn")},
    "ffn_gate_inp": "f32",
    "ffn_gate_exps": "q4_k",
    "ffn_up_exps": "q4_k",
    "ffn_down_exps": ("q4_k", "q6_k"),
}

SHAPES = {
    shape.name: shape
    for shape in (
        Shape(
            name="gemma3-270m",
            architecture="gemma3",
            layers=18,
            width=640,
            feed_forward=2048,
            heads=4,
            kv_heads=1,
            head_size=256,
            vocabulary=262144,
            context=32768,
            rope_base=1e6,
            formats=_GEMMA,
            positions=(128,),
        ),
        Shape(
            name="llama-1b",
            architecture="llama",
            layers=16,
            width=2048,
            feed_forward=8192,
            heads=32,
            kv_heads=8,
            head_size=64,
            vocabulary=128256,
            context=131072,
            rope_base=5e5,
            formats=_LLAMA,
            positions=(128, 8192),
        ),
        Shape(
            name="llama-8b",
            architecture="llama",
            layers=32,
            width=4096,
            feed_forward=14336,
            heads=32,
            kv_heads=8,
            head_size=128,
            vocabulary=128256,
            context=131072,
            rope_base=5e5,
            formats=_LLAMA,
            positions=(128,),
        ),
        Shape(
            name="qwen3-8b",
            architecture="qwen3",
            layers=36,
            width=4096,
            feed_forward=12288,
            heads=32,
            kv_heads=8,
            head_size=128,
            vocabulary=151936,
            context=40960,
            rope_base=1e6,
            formats=_LLAMA,
            positions=(128,),
        ),
        Shape(
            name="qwen3-30b-a3b",
            architecture="qwen3moe",
            layers=48,
            width=2048,
            feed_forward=768,
            heads=32,
            kv_heads=4,
            head_size=128,
            vocabulary=151936,
            context=40960,
            rope_base=1e6,
            formats=_EXPERTS,
            positions=(128,),
            experts=128,
            used_experts=8,
        ),
    )
}
USUAL = ("gemma3-270m", "llama-1b", "llama-8b")  # where no model is named: the others take 24 GB
