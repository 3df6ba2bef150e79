"""Granite (3 and later) with a mixture of experts.

What is special:
  - scales of the embedding, of scores, and of logits (which are divided by theirs)
  - what a half of a block adds is scaled, too. The tape keeps the residual stream divided by that
    scale instead: norms undo it, with an eps divided by its square, and nothing is left to multiply
  - rotation turns neighbours (2i, 2i + 1)
  - shares of the used experts are the softmax over these; some files have one more expert, of a
    width of its own, that every token uses

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
from llm.models.weights import WeightTable, positive


@dataclass(frozen=True, slots=True)
class GraniteScales:
    embedding: float
    residual: float  # of what each half of a block adds
    attention: float | None  # of scores; the usual one where None
    logits: float  # they are divided by it

    @classmethod
    def from_gguf(cls, file: ModelFile) -> "GraniteScales":
        meta = file.metadata

        def scale(name: str, default: float | None = None) -> float:
            key = f"granitemoe.{name}"
            value = meta.float(key) if default is None else meta.float(key, default=default)
            return positive(file, key, value)

        return cls(
            embedding=scale("embedding_scale", 1.0),
            residual=scale("residual_scale", 1.0),
            attention=scale("attention.scale") if "granitemoe.attention.scale" in meta else None,
            logits=scale("logit_scale"),
        )


@dataclass(frozen=True, slots=True)
class Block:
    attn_norm: Weight  # (1, C)
    q: Weight  # (H*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    output: Weight  # (C, H*D)
    ffn_norm: Weight  # (1, C)
    router: Weight  # (E, C)
    gates: Weight  # (E*F, C)
    ups: Weight  # (E*F, C)
    downs: Weight  # (E*C, F)
    shared: SharedExpert | None

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
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            ffn_norm=table.vector(prefix + "ffn_norm.weight", width),
            router=table.matrix(prefix + "ffn_gate_inp.weight", count, width),
            gates=table.experts(prefix + "ffn_gate_exps.weight", count, feed_forward, width),
            ups=table.experts(prefix + "ffn_up_exps.weight", count, feed_forward, width),
            downs=table.experts(prefix + "ffn_down_exps.weight", count, width, feed_forward),
            shared=SharedExpert.take(table, prefix, shared, width) if shared else None,
        )


def program(file: ModelFile, context: int, max_rows: int, max_outputs: int) -> Program:
    """Raises ModelFileError where metadata or tensors are missing or disagree, and
    UnsupportedModelError for biases and unknown scalings of positions."""
    sizes = DecoderSizes.from_gguf(file, "granitemoe")
    experts = ExpertSizes.from_gguf(file, "granitemoe", sizes.feed_forward)
    shared = file.metadata.int("granitemoe.expert_shared_feed_forward_length", default=0)
    table = WeightTable(file)
    ends = Ends.take(table, sizes.width)
    blocks = [Block.take(table, layer, sizes, experts, shared) for layer in range(sizes.n_layers)]
    table.refuse_others()
    rope = Rope.from_gguf(file, table, "granitemoe", sizes.head_size, context)
    scales = GraniteScales.from_gguf(file)
    slabs = CacheSlab.of_layers(sizes.n_layers, sizes.keys)

    def record(rows: int, outputs: int) -> Tape:
        tape = Tape(rows, outputs)
        x = tape.tensor(sizes.width)  # (T, C), the residual stream over its scale
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
        shared_gate = tape.tensor(shared)  # (T, S)
        shared_up = tape.tensor(shared)  # (T, S)
        eps = sizes.norm_eps / scales.residual**2
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads

        tape.embed(ends.embedding, x, scale=scales.embedding / scales.residual)
        for block, slab in zip(blocks, slabs, strict=True):
            tape.rms_norm(block.attn_norm, x, h, eps)
            tape.matmul(block.q, h, q)
            tape.matmul(block.k, h, k)
            tape.matmul(block.v, h, v)
            tape.rotate(
                q,
                rope.weight,
                heads=heads,
                pairing=Pairing.ADJACENT,
                scale=scales.attention or sizes.query_scale,
                magnitude=rope.magnitude,
            )
            tape.rotate(
                k, rope.weight, heads=kv_heads, pairing=Pairing.ADJACENT, magnitude=rope.magnitude
            )
            tape.cache_store(k, v, slab)
            tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads)
            tape.matmul(block.output, mixed, x, residual=x)

            tape.rms_norm(block.ffn_norm, x, h, eps)
            tape.matmul(block.router, h, scores)
            tape.route(scores, choice)
            tape.expert_matmul(block.gates, h, gate, choice)
            tape.expert_matmul(block.ups, h, up, choice)
            tape.gated_unit(gate, up, gate, Activation.SILU)
            tape.expert_matmul(block.downs, gate, each, choice)
            tape.expert_sum(each, choice, x, residual=x)
            if block.shared is not None:
                block.shared.record(tape, h, shared_gate, shared_up, x, x)
        return ends.record(tape, x, eps, scale=1.0 / scales.logits)

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
