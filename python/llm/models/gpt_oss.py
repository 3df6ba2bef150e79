"""gpt-oss: experts, windows and sinks.

What is special:
  - every product of a layer has a bias, those of experts too
  - layers see a window and all by turns, a window first
  - the softmax of each head has one more score, its sink, whose value is 0
  - the experts' gated unit clamps both of its sides
  - the experts of a token are those with the largest logits, their shares the softmax over these;
    that is the softmax over all, divided by the sum of theirs
  - the norm before the experts is named for what it follows

Letters: T rows, C width, E experts, U used ones, F feed-forward width of an expert, H query heads,
G key/value heads, D head size.
"""

from dataclasses import dataclass

from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.program import Program
from llm.gpu.tape import Tape
from llm.models.decoder import DecoderSizes, Ends
from llm.models.experts import ExpertSizes
from llm.models.rope import Rope
from llm.models.weights import WeightTable

PERIOD = 2  # of layers, the first of which sees a window


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_bias: Weight  # (1, H*D)
    k_bias: Weight  # (1, G*D)
    v_bias: Weight  # (1, G*D)
    sinks: Weight  # (1, H)
    output: Weight  # (C, H*D)
    output_bias: Weight  # (1, C)
    ffn_norm: Weight  # (1, C)
    router: Weight  # (E, C)
    router_bias: Weight  # (1, E)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)
    gates_bias: Weight  # (E, F)
    ups_bias: Weight  # (E, F)
    downs_bias: Weight  # (E, C)

    @classmethod
    def take(
        cls, table: WeightTable, layer: int, sizes: DecoderSizes, experts: ExpertSizes
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
            sinks=table.vector(prefix + "attn_sinks.weight", sizes.n_heads),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            output_bias=table.vector(prefix + "attn_output.bias", width),
            ffn_norm=table.vector(prefix + "post_attention_norm.weight", width),
            router=table.matrix(prefix + "ffn_gate_inp.weight", count, width),
            router_bias=table.vector(prefix + "ffn_gate_inp.bias", count),
            gates=table.experts(prefix + "ffn_gate_exps.weight", count, feed_forward, width),
            ups=table.experts(prefix + "ffn_up_exps.weight", count, feed_forward, width),
            downs=table.experts(prefix + "ffn_down_exps.weight", count, width, feed_forward),
            gates_bias=table.floats(prefix + "ffn_gate_exps.bias", count, feed_forward),
            ups_bias=table.floats(prefix + "ffn_up_exps.bias", count, feed_forward),
            downs_bias=table.floats(prefix + "ffn_down_exps.bias", count, width),
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for unknown scalings of positions."""
    sizes = DecoderSizes.from_gguf(file, "gpt-oss")
    experts = ExpertSizes.from_gguf(file, "gpt-oss")
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width)
    blocks = [Block.take(table, layer, sizes, experts) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "gpt-oss", sizes.head_size, context)
    seen = file.metadata.int("gpt-oss.attention.sliding_window", minimum=1)
    windows = [0 if layer % PERIOD else seen for layer in range(sizes.n_layers)]
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
        eps = sizes.norm_eps
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        tape.embed(ends.embedding, x)
        for block, slab, window in zip(blocks, slabs, windows, strict=True):
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
            tape.attend(
                q, slab, mixed, heads=heads, kv_heads=kv_heads, window=window, sinks=block.sinks
            )
            tape.matmul(block.output, mixed, x, residual=x)
            tape.add_biases((block.output_bias, x))

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.router, h, scores)
            tape.add_biases((block.router_bias, scores))
            tape.route(scores, choice)
            tape.expert_matmul(block.gates, h, gate, choice, bias=block.gates_bias)
            tape.expert_matmul(block.ups, h, up, choice, bias=block.ups_bias)
            tape.gated_unit(gate, up, gate, Activation.CLAMPED)
            tape.expert_matmul(block.downs, gate, each, choice, bias=block.downs_bias)
            tape.expert_sum(each, choice, x, residual=x)
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
