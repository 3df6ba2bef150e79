"""Qwen 1.5 and 2 with a mixture of experts, such as 57B-A14B.

What is special:
  - queries, keys and values have a bias; nothing else has
  - shares of the used experts are their softmax over all experts; they do not sum up to 1
  - one more expert, of a width of its own, is used by every token, by a share that is a sigmoid

Letters: T rows, C width, E experts, U used ones, F feed-forward width of an expert, H query heads,
G key/value heads, D head size, S feed-forward width of the expert that all use.
"""

from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes, Ends
from llm.models.experts import ExpertSizes, SharedExpert
from llm.models.rope import Rope
from llm.models.weights import WeightTable


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_bias: Weight  # (1, H*D)
    k_bias: Weight  # (1, G*D)
    v_bias: Weight  # (1, G*D)
    output: Weight  # (C, H*D)
    ffn_norm: Weight  # (1, C)
    router: Weight  # (E, C)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)
    shared_share: Weight  # (1, C)
    shared: SharedExpert

    @classmethod
    def take(
        cls,
        table: WeightTable,
        layer: int,
        sizes: DecoderSizes,
        experts: ExpertSizes,
        shared: int,
    ) -> "Block":
        width = sizes.width
        prefix = f"blk.{layer}."
        count, feed_forward = experts.count, experts.feed_forward
        return cls(
            attn_norm=table.vector(prefix + "attn_norm.weight", width),
            q=table.matrix(prefix + "attn_q.weight", sizes.queries, width),
            k=table.matrix(prefix + "attn_k.weight", sizes.keys, width),
            v=table.matrix(prefix + "attn_v.weight", sizes.keys, width),
            q_bias=table.vector(prefix + "attn_q.bias", sizes.queries),
            k_bias=table.vector(prefix + "attn_k.bias", sizes.keys),
            v_bias=table.vector(prefix + "attn_v.bias", sizes.keys),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            router=table.matrix(prefix + "ffn_gate_inp.weight", count, width),
            gates=table.experts(prefix + "ffn_gate_exps.weight", count, feed_forward, width),
            ups=table.experts(prefix + "ffn_up_exps.weight", count, feed_forward, width),
            downs=table.experts(prefix + "ffn_down_exps.weight", count, width, feed_forward),
            shared_share=table.matrix(prefix + "ffn_gate_inp_shexp.weight", 1, width),
            shared=SharedExpert.take(table, prefix, shared, width),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for unknown scalings of positions."""
    sizes = DecoderSizes.from_gguf(file, "qwen2moe")
    meta = file.metadata
    used = meta.int("qwen2moe.expert_used_count", minimum=1)
    experts = ExpertSizes.from_gguf(file, "qwen2moe", sizes.feed_forward // used)
    shared_key = "qwen2moe.expert_shared_feed_forward_length"
    shared = meta.int(shared_key, default=sizes.feed_forward, minimum=1)
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width)
    blocks = [Block.take(table, layer, sizes, experts, shared) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "qwen2moe", sizes.head_size, context)
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(sizes.width)  # (T, C), the residual stream
        h = tape.tensor(sizes.width)  # (T, C)
        q = tape.tensor(sizes.queries)  # (T, H*D)
        k = tape.tensor(sizes.keys)  # (T, G*D)
        v = tape.tensor(sizes.keys)  # (T, G*D)
        mixed = tape.tensor(sizes.queries)  # (T, H*D)
        scores = tape.tensor(experts.count)  # (T, E)
        choice = tape.choice(experts.count, experts.used)
        gate = tape.tensor(experts.used * experts.feed_forward)  # (T, U*F)
        up = tape.tensor(experts.used * experts.feed_forward)  # (T, U*F)
        each = tape.tensor(experts.used * sizes.width)  # (T, U*C)
        share = tape.tensor(1)  # (T, 1)
        every = tape.tensor(sizes.width)  # (T, C), of the expert that all use
        shared_gate = tape.tensor(shared)  # (T, S)
        shared_up = tape.tensor(shared)  # (T, S)
        eps = sizes.norm_eps
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        tape.embed(ends.embedding, x)
        for block, slab in zip(blocks, slabs, strict=True):
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.add_biases((block.q_bias, q), (block.k_bias, k), (block.v_bias, v))
            tape.rotate(
                q,
                rope.weight,
                heads=heads,
                pairing=Pairing.HALVES,
                scale=sizes.query_scale,
                magnitude=rope.magnitude,
            )
            tape.rotate(
                k, rope.weight, heads=kv_heads, pairing=Pairing.HALVES, magnitude=rope.magnitude
            )
            tape.cache_store(k, v, slab)
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads)
            tape.matmul(block.output, mixed, x, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.router, h, scores)
            tape.route(scores, choice, normalised=False)
            tape.expert_matmul(block.gates, h, gate, choice)
            tape.expert_matmul(block.ups, h, up, choice)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.expert_matmul(block.downs, gate, each, choice)
            tape.expert_sum(each, choice, x, residual=x)

            block.shared.record(tape, h, shared_gate, shared_up, every, None)
            tape.matmul(block.shared_share, h, share)
            tape.gated_add(every, share, x, residual=x)
        return ends.record(tape, x, eps)

    return Program(
        weights=table.taken,
        constants=rope.constants,
        vocabulary=ends.vocabulary,
        context=context,
        page_words=slabs[-1].end,
        max_rows=max_rows,
        max_outputs=max_outputs,
        record=record,
    )
