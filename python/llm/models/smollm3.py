"""SmolLM3: Llama's plan, where every fourth layer has no positions.

What is special:
  - the last of every four layers does not rotate queries and keys (Yang et al. 2025, NoPE)
  - the others turn neighbours (2i, 2i + 1)
  - the output is tied to the embedding where the file has none

Letters: T rows, C width, F feed-forward width, H query heads, G key/value heads, D head size.
"""

from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes, Ends
from llm.models.rope import Rope
from llm.models.weights import WeightTable

STILL_PERIOD = 4  # no key of the file says so


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    output: Weight  # (C, H*D)
    ffn_norm: Weight  # (1, C)
    gate: Weight  # (F, C)
    up: Weight  # (F, C)
    down: Weight  # (C, F)

    @classmethod
    def take(cls, table: WeightTable, layer: int, sizes: DecoderSizes) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", sizes.queries, width),
            k=table.matrix(prefix + "attn_k.weight", sizes.keys, width),
            v=table.matrix(prefix + "attn_v.weight", sizes.keys, width),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            gate=table.matrix(prefix + "ffn_gate.weight", sizes.feed_forward, width),
            up=table.matrix(prefix + "ffn_up.weight", sizes.feed_forward, width),
            down=table.matrix(prefix + "ffn_down.weight", width, sizes.feed_forward),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for further biases or norms, or an unknown scaling of positions."""
    sizes = DecoderSizes.from_gguf(file, "smollm3")
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width)
    blocks = [Block.take(table, layer, sizes) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "smollm3", sizes.head_size, context)
    still = Rope.still(sizes.head_size)
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(sizes.width)  # (T, C), the residual stream
        h = tape.tensor(sizes.width)  # (T, C)
        q = tape.tensor(sizes.queries)  # (T, H*D)
        k = tape.tensor(sizes.keys)  # (T, G*D)
        v = tape.tensor(sizes.keys)  # (T, G*D)
        mixed = tape.tensor(sizes.queries)  # (T, H*D)
        gate = tape.tensor(sizes.feed_forward)  # (T, F)
        up = tape.tensor(sizes.feed_forward)  # (T, F)
        eps = sizes.norm_eps
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        tape.embed(ends.embedding, x)
        for layer, (block, slab) in enumerate(zip(blocks, slabs, strict=True)):
            turns = still if layer % STILL_PERIOD == STILL_PERIOD - 1 else rope
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.rotate(
                q,
                turns.weight,
                heads=heads,
                pairing=Pairing.ADJACENT,
                scale=sizes.query_scale,
                magnitude=turns.magnitude,
            )
            tape.rotate(
                k,
                turns.weight,
                heads=kv_heads,
                pairing=Pairing.ADJACENT,
                magnitude=turns.magnitude,
            )
            tape.cache_store(k, v, slab)
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads)
            tape.matmul(block.output, mixed, x, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.gate, h, gate)
            tape.matmul(block.up, h, up)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.matmul(block.down, gate, x, residual=x)
        return ends.record(tape, x, eps)

    return Program(
        weights=table.taken,
        constants={**rope.constants, **still.constants},
        vocabulary=ends.vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
    )
