"""The models that are measured: shapes and block formats of real ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# Formats of even and of odd layers, where they differ.
Formats = tuple[str, str]
MetadataValue = int | float | list[int] | list[bool]

WINDOW = 512  # tokens that layers of Gemma see


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

    def metadata(self) -> dict[str, MetadataValue]:
        """What the file says of it, under the architecture's name."""
        sizes: dict[str, MetadataValue] = {
            "context_length": self.context,
            "embedding_length": self.width,
            "block_count": self.layers,
            "feed_forward_length": self.feed_forward,
            "attention.head_count": self.heads,
            "attention.head_count_kv": self.kv_heads,
            "attention.key_length": self.head_size,
            "attention.value_length": self.head_size,
            "vocab_size": self.vocabulary,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "rope.freq_base": self.rope_base,
        }
        if self.experts:
            sizes["expert_count"] = self.experts
            sizes["expert_used_count"] = self.used_experts
            sizes["expert_feed_forward_length"] = self.feed_forward
        if self.architecture == "gemma3":
            return sizes | {"attention.sliding_window": WINDOW}
        return sizes | {"rope.dimension_count": self.head_size}

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


@dataclass(frozen=True, kw_only=True)
class Gemma4Shape(Shape):
    """`head_size` is that of layers that see everything: every so many layers one does."""

    window_head_size: int
    pattern: int
    shared_layers: int  # the last ones, which read others' keys and values, and
    shared_feed_forward: int  # are wider
    layer_width: int  # of the per-layer embeddings

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        of_all = self.layers * self.layer_width
        yield "token_embd.weight", (self.vocabulary, self.width), self._format("token_embd", 0)
        for name, rows, columns in (
            ("per_layer_token_embd", self.vocabulary, of_all),
            ("per_layer_model_proj", of_all, self.width),
        ):
            yield f"{name}.weight", (rows, columns), self._format(name, 0)
        yield "per_layer_proj_norm.weight", (self.layer_width,), "f32"
        yield "output_norm.weight", (self.width,), "f32"
        yield "rope_freqs.weight", (self.head_size // 2,), "f32"
        for layer in range(self.layers):
            for kind, shape in self._block_of(layer).items():
                block_format = "f32" if len(shape) == 1 else self._format(kind, layer)
                yield f"blk.{layer}.{kind}.weight", shape, block_format

    def metadata(self) -> dict[str, MetadataValue]:
        layers = range(self.layers)
        return {
            **super().metadata(),
            "attention.sliding_window": WINDOW,
            "attention.sliding_window_pattern": [self._slides(layer) for layer in layers],
            "attention.key_length_swa": self.window_head_size,
            "attention.value_length_swa": self.window_head_size,
            "rope.dimension_count_swa": self.window_head_size,
            "rope.freq_base_swa": 1e4,
            "attention.shared_kv_layers": self.shared_layers,
            "feed_forward_length": [self._hidden(layer) for layer in layers],
            "embedding_length_per_layer_input": self.layer_width,
            "final_logit_softcapping": 30.0,
        }

    def _slides(self, layer: int) -> bool:
        return layer % self.pattern != self.pattern - 1

    def _shares(self, layer: int) -> bool:
        return layer >= self.layers - self.shared_layers

    def _hidden(self, layer: int) -> int:
        return self.shared_feed_forward if self._shares(layer) else self.feed_forward

    def _block_of(self, layer: int) -> dict[str, tuple[int, ...]]:
        size = self.window_head_size if self._slides(layer) else self.head_size
        width, own, hidden = self.width, self.layer_width, self._hidden(layer)
        norms = ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm", "post_norm")
        keys = {"attn_k": (self.kv_heads * size, width), "attn_v": (self.kv_heads * size, width)}
        return {
            **{kind: (width,) for kind in norms},
            "attn_q_norm": (size,),
            "layer_output_scale": (1,),
            "attn_q": (self.heads * size, width),
            **({} if self._shares(layer) else {**keys, "attn_k_norm": (size,)}),
            "attn_output": (width, self.heads * size),
            "ffn_gate": (hidden, width),
            "ffn_up": (hidden, width),
            "ffn_down": (width, hidden),
            "inp_gate": (own, width),
            "proj": (width, own),
        }


@dataclass(frozen=True, kw_only=True)
class GptOssShape(Shape):
    window: int

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        yield from super().tensors()
        for layer in range(self.layers):
            yield f"blk.{layer}.attn_sinks.weight", (self.heads,), "f32"
            for kind, sizes in super()._block():
                if len(sizes) > 1:  # one of each row
                    yield f"blk.{layer}.{kind}.bias", sizes[:-1], "f32"

    def metadata(self) -> dict[str, MetadataValue]:
        return {**super().metadata(), "attention.sliding_window": self.window}

    def _block(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        for kind, sizes in super()._block():
            if kind not in ("attn_q_norm", "attn_k_norm"):
                yield "post_attention_norm" if kind == "ffn_norm" else kind, sizes


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

_GEMMA4: dict[str, str | Formats] = {
    "token_embd": "q6_k",
    "per_layer_token_embd": "q6_k",
    "per_layer_model_proj": "f16",  # which is never quantised
    "attn_q": "q4_k",
    "attn_k": "q4_k",
    "attn_v": ("q4_k", "q6_k"),
    "attn_output": "q4_k",
    "ffn_gate": "q4_k",
    "ffn_up": "q4_k",
    "ffn_down": ("q4_k", "q6_k"),
    "inp_gate": "q4_k",
    "proj": "q4_k",
}

_GPT_OSS: dict[str, str | Formats] = {
    **{kind: "q8_0" for kind in _LLAMA if not kind.startswith("ffn")},
    "ffn_gate_inp": "f32",
    "ffn_gate_exps": "mxfp4",
    "ffn_up_exps": "mxfp4",
    "ffn_down_exps": "mxfp4",
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
            name="qwen3-14b",
            architecture="qwen3",
            layers=40,
            width=5120,
            feed_forward=17408,
            heads=40,
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
        GptOssShape(
            name="gpt-oss-20b",
            architecture="gpt-oss",
            layers=24,
            width=2880,
            feed_forward=2880,
            heads=64,
            kv_heads=8,
            head_size=64,
            vocabulary=201088,
            context=131072,
            rope_base=150000.0,
            formats=_GPT_OSS,
            positions=(128,),
            experts=32,
            used_experts=4,
            window=128,
        ),
        Gemma4Shape(
            name="gemma4-e2b",
            architecture="gemma4",
            layers=35,
            width=1536,
            feed_forward=6144,
            heads=8,
            kv_heads=1,
            head_size=512,
            vocabulary=262144,
            context=131072,
            rope_base=1e6,
            formats=_GEMMA4,
            positions=(128,),
            window_head_size=256,
            pattern=5,
            shared_layers=20,
            shared_feed_forward=12288,
            layer_width=256,
        ),
    )
}
USUAL = ("gemma3-270m", "llama-1b", "llama-8b")  # where no model is named: the others take 24 GB
