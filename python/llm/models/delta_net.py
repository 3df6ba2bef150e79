"""Layers of gated DeltaNet, as several architectures have them.

Queries, keys and values go through a short causal convolution, then queries and keys are brought to
length 1. The gated delta rule writes into a matrix for each value head what a token's key should
find there, and lets the rest decay; what a query finds is normalised by heads and gated by silu.

Letters: T rows, C width, N value heads, M key heads, S head size, K taps of the convolution.
"""

from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.operations import PAIR_FLOATS, HeadMapping, StateSlab, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.weights import WeightTable

MAX_STATE_SIZE = 256  # registers of a thread that keeps a column of a matrix
MAX_TAPS = 16


@dataclass(frozen=True, slots=True)
class DeltaSizes:
    n_heads: int  # N
    n_key_heads: int  # M
    head_size: int  # S
    taps: int  # K
    mapping: HeadMapping

    @classmethod
    def from_gguf(cls, file: ModelFile, architecture: str, mapping: HeadMapping) -> "DeltaSizes":
        """Raises ModelFileError."""
        meta = file.metadata
        prefix = f"{architecture}.ssm."
        sizes = cls(
            n_heads=meta.int(prefix + "time_step_rank", minimum=1),
            n_key_heads=meta.int(prefix + "group_count", minimum=1),
            head_size=meta.int(prefix + "state_size", minimum=4, maximum=MAX_STATE_SIZE),
            taps=meta.int(prefix + "conv_kernel", minimum=2, maximum=MAX_TAPS),
            mapping=mapping,
        )
        if sizes.n_heads % sizes.n_key_heads:
            problem = f"{sizes.n_heads} heads do not share {sizes.n_key_heads} key heads evenly"
            raise ModelFileError(file.path, prefix + "time_step_rank", problem)
        if sizes.head_size % 4:
            problem = f"{sizes.head_size} is not a multiple of 4"
            raise ModelFileError(file.path, prefix + "state_size", problem)
        inner = meta.int(prefix + "inner_size", default=sizes.values)
        if inner != sizes.values:
            problem = f"{inner} is not {sizes.n_heads} heads of {sizes.head_size}"
            raise ModelFileError(file.path, prefix + "inner_size", problem)
        return sizes

    @property
    def values(self) -> int:
        """N*S"""
        return self.n_heads * self.head_size

    @property
    def convolved(self) -> int:
        """(2*M + N)*S"""
        return 2 * self.n_key_heads * self.head_size + self.values


@dataclass(frozen=True, slots=True)
class DeltaNet:
    """One layer."""

    sizes: DeltaSizes
    qkv: Weight  # ((2*M + N)*S, C)
    gate: Weight  # (N*S, C)
    alpha_beta: tuple[Weight, Weight] | Weight  # (N, C) each, or (2*N, C) in groups of a key head
    taps: Weight  # ((2*M + N)*S, K)
    decay: Weight  # (1, N)
    bias: Weight  # (1, N)
    norm: Weight  # (1, S)
    output: Weight  # (C, N*S)
    inputs: StateSlab  # of the convolution, (K - 1, (2*M + N)*S)
    state: StateSlab  # (N, S, S)

    @classmethod
    def take(
        cls,
        table: WeightTable,
        prefix: str,
        width: int,
        sizes: DeltaSizes,
        states: list[StateSlab],
    ) -> "DeltaNet":
        """Adds what it needs of a slot to `states`, which other layers have."""
        n_heads = sizes.n_heads
        for floats in ((sizes.taps - 1) * sizes.convolved, sizes.values * sizes.head_size):
            states.append(StateSlab.after(states, floats))
        if table.has(prefix + "ssm_ba.weight"):
            alpha_beta: tuple[Weight, Weight] | Weight = table.matrix(
                prefix + "ssm_ba.weight", 2 * n_heads, width
            )
        else:
            alpha_beta = (
                table.matrix(prefix + "ssm_alpha.weight", n_heads, width),
                table.matrix(prefix + "ssm_beta.weight", n_heads, width),
            )
        return cls(
            sizes=sizes,
            qkv=table.matrix(prefix + "attn_qkv.weight", sizes.convolved, width),
            gate=table.matrix(prefix + "attn_gate.weight", sizes.values, width),
            alpha_beta=alpha_beta,
            taps=table.floats(prefix + "ssm_conv1d.weight", sizes.convolved, sizes.taps),
            decay=table.vector(prefix + "ssm_a", n_heads),
            bias=table.vector(prefix + "ssm_dt.bias", n_heads),
            norm=table.vector(prefix + "ssm_norm.weight", sizes.head_size),
            output=table.matrix(prefix + "ssm_out.weight", width, sizes.values),
            inputs=states[-2],
            state=states[-1],
        )


class DeltaWork:
    """Activations of such layers, one after the other."""

    def __init__(self, tape: Tape, sizes: DeltaSizes) -> None:
        self._tape = tape
        self._sizes = sizes
        self._qkv = tape.tensor(sizes.convolved)  # (T, (2*M + N)*S)
        self._convolved = tape.tensor(sizes.convolved)  # (T, (2*M + N)*S)
        self._gate = tape.tensor(sizes.values)  # (T, N*S)
        self._pairs = tape.tensor(2 * sizes.n_heads)  # (T, 2*N), where they come together
        self._alpha = tape.tensor(sizes.n_heads)  # (T, N)
        self._beta = tape.tensor(sizes.n_heads)  # (T, N)
        self._room = tape.tensor(sizes.n_heads * PAIR_FLOATS)  # (T, N*PAIR_FLOATS)
        self._found = tape.tensor(sizes.values)  # (T, N*S)

    def add(self, layer: DeltaNet, h: Tensor, x: Tensor, eps: float) -> None:
        """x = x + what the layer makes of h, (T, C) each."""
        tape, sizes = self._tape, self._sizes
        tape.matmul(layer.qkv, h, self._qkv)
        tape.matmul(layer.gate, h, self._gate)
        self._find_alpha_and_beta(layer, h)
        tape.convolve(layer.taps, self._qkv, self._convolved, layer.inputs)
        tape.l2_norm(
            self._convolved, heads=2 * sizes.n_key_heads, head_size=sizes.head_size, eps=eps
        )
        tape.delta_rule(
            self._convolved,
            self._alpha,
            self._beta,
            self._room,
            self._found,
            layer.state,
            decay=layer.decay,
            bias=layer.bias,
            key_heads=sizes.n_key_heads,
            heads=sizes.n_heads,
            mapping=sizes.mapping,
        )
        tape.gated_norm(
            layer.norm, self._found, self._gate, self._found, heads=sizes.n_heads, eps=eps
        )
        tape.matmul(layer.output, self._found, x, residual=x)

    def _find_alpha_and_beta(self, layer: DeltaNet, h: Tensor) -> None:
        tape, sizes = self._tape, self._sizes
        if isinstance(layer.alpha_beta, tuple):
            alpha, beta = layer.alpha_beta
            tape.matmul(alpha, h, self._alpha)
            tape.matmul(beta, h, self._beta)
            return
        of_key_head = sizes.n_heads // sizes.n_key_heads
        tape.matmul(layer.alpha_beta, h, self._pairs)
        tape.slice_heads(self._pairs, self._beta, heads=sizes.n_key_heads, first=0)
        tape.slice_heads(self._pairs, self._alpha, heads=sizes.n_key_heads, first=of_key_head)
