"""Sound GGUF files for tests: one small with everything in it, one with a real model's shape."""

import gguf
import numpy as np
from support.gguf_builder import F64, I8, I16, I64, U8, U16, U64, GgufBuilder


def random_blocks(format: str, blocks: int, seed: int = 0) -> np.ndarray:
    """The bytes of random blocks, uint8; what their scales mean may be anything, NaN too."""
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[format.upper()]][1]
    return np.random.default_rng(seed).integers(0, 256, blocks * size, np.uint8)


def rich() -> GgufBuilder:
    """About 300 KB with every type of value, every kind of array, and tensors of all ranks."""
    made = GgufBuilder(alignment=64)
    made.add("general.architecture", "gemma3").add("general.name", "A rich file: ünïcode 🦊")
    made.add("a.u8", 255, U8).add("a.i8", -128, I8).add("a.u16", 65535, U16)
    made.add("a.i16", -32768, I16).add("a.u32", 2**32 - 1).add("a.i32", -5, 5)
    made.add("a.f32", 0.5).add("a.true", True).add("a.false", False).add("a.empty", "")
    made.add("a.u64", 2**64 - 1, U64).add("a.i64", -(2**63), I64).add("a.f64", 1e300, F64)
    for letter in ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "u8", "i8", "f8"):
        made.add(f"array.{letter}", np.arange(7).astype(letter))
    made.add("array.bool", np.array([True, False, True]))
    made.add("array.strings", ["", "one", "zwölf", b"\xff\xfe not UTF-8", "x" * 300])
    made.add("array.none", np.zeros(0, np.int32))
    for index, (format, (values, _)) in enumerate(_sizes().items()):
        shape = (3, 7 * values)
        data = random_blocks(format, 3 * 7, seed=index)
        made.tensor(f"matrix.{format}", shape, format, data)
    made.tensor("vector", (257,), "f32", np.ones(257, np.float32))
    made.tensor("cube", (2, 3, 5), "f16", np.ones(30, np.float16))
    made.tensor("four", (2, 3, 5, 7), "i8", np.zeros(210, np.uint8))
    made.tensor("ballast", (256 * 1024,), "i8", bytes(256 * 1024))
    return made


def gemma_shaped(vocabulary: int = 262_144) -> GgufBuilder:
    """Gemma 3 270M's metadata and tensors by name, shape and format; the weights are a hole."""
    made = GgufBuilder()
    made.add("general.architecture", "gemma3").add("general.name", "Gemma-shaped")
    sizes = {"context_length": 32768, "embedding_length": 640, "block_count": 18}
    sizes |= {"feed_forward_length": 2048, "attention.head_count": 4, "attention.head_count_kv": 1}
    sizes |= {"attention.key_length": 256, "attention.value_length": 256}
    sizes |= {"attention.sliding_window": 512}
    for key, size in sizes.items():
        made.add(f"gemma3.{key}", size)
    made.add("gemma3.attention.layer_norm_rms_epsilon", 1e-6).add("gemma3.rope.freq_base", 1e6)
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += [f"▁token{index}" for index in range(vocabulary - len(tokens))]
    made.add("tokenizer.ggml.model", "llama").add("tokenizer.ggml.tokens", tokens)
    made.add("tokenizer.ggml.scores", np.arange(vocabulary, dtype=np.float32))
    types = [3, 3, 3, 2] + [6] * 256 + [1] * (vocabulary - 260)
    made.add("tokenizer.ggml.token_type", np.array(types, np.int32))
    made.add("tokenizer.ggml.bos_token_id", 2).add("tokenizer.ggml.eos_token_id", 1)

    def tensor(name: str, format: str, *shape: int) -> None:
        values, size = _sizes()[format]
        made.tensor(name, shape, format, int(np.prod(shape)) // values * size)

    tensor("output_norm.weight", "f32", 640)
    tensor("token_embd.weight", "q8_0", vocabulary, 640)
    for layer in range(18):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"):
            tensor(f"{block}{norm}.weight", "f32", 640)
        tensor(f"{block}attn_q_norm.weight", "f32", 256)
        tensor(f"{block}attn_k_norm.weight", "f32", 256)
        tensor(f"{block}attn_q.weight", "q5_0", 1024, 640)
        tensor(f"{block}attn_k.weight", "q5_0", 256, 640)
        tensor(f"{block}attn_v.weight", "q8_0", 256, 640)
        tensor(f"{block}attn_output.weight", "q4_k", 640, 1024)
        tensor(f"{block}ffn_gate.weight", "q5_0", 2048, 640)
        tensor(f"{block}ffn_up.weight", "q5_0", 2048, 640)
        tensor(f"{block}ffn_down.weight", "q6_k", 640, 2048)
    return made


def _sizes() -> dict[str, tuple[int, int]]:
    """Values and bytes of a block by the name of its format."""
    return {format.name.lower(): sizes for format, sizes in gguf.GGML_QUANT_SIZES.items()}
