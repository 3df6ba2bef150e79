"""What a tape asks of the steps kernel, and whether a device can give it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from llm.gpu.kernels.kernel import Kernel
from llm.gpu.kernels.resident import RESIDENT_SUBGROUPS, steps_kernel
from llm.gpu.operations import PAGE_CELLS, Attend, Embed, Tensor
from llm.gpu.sampler import LISTED, sample_scratch
from llm.gpu.steps.attention import PART_FLOATS, heads_together, lane_cells
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.fusion import StepScratch, fuse
from llm.gpu.steps.residency import MOST_GROUPS
from llm.gpu.steps.steps import NormParts, Product, Prologue
from llm.gpu.tape import Tape

LEAST_PAGES = 64  # of a table: a power of two, so that few kernels serve all contexts
MOST_PART_VALUES = 32  # of a lane, in a norm of parts
MAX_PARTS = 32  # of the cells of a key/value head
SMALL_SHARED = 7064  # bytes of the kernel's shared variables that no size of a model changes


class StepSizes:
    """Raises NoStepError where the kernel has no steps for what the architecture does.

    `in_ram` are the names of tables there.
    """

    def __init__(self, tape: Tape, in_ram: Collection[str] = ()) -> None:
        attention = [op for op in tape.operations if isinstance(op, Attend)]
        if not attention:
            raise NoStepError("a tape without attention")
        self.width = next(op.y.width for op in tape.operations if isinstance(op, Embed))
        self.head_sizes = {op.q.width // op.heads for op in attention}
        self.groups_of_heads = {op.heads // op.kv_heads for op in attention}
        n_heads = max(op.heads for op in attention)
        self.partial_floats = n_heads * MAX_PARTS * (self.head_size + PART_FLOATS)
        steps = fuse(tape, self.scratch(0), in_ram)
        norms = [step for step in steps if isinstance(step, NormParts)]
        self.part_width = max((step.x.width // step.n_parts for step in norms), default=0)
        products = [step for step in steps if isinstance(step, Product)]
        self.longest_input = max(step.width for step in products)
        plain = (Prologue.PLAIN, Prologue.GATED)
        self.longest_normed = max(step.width for step in products if step.prologue not in plain)
        choices = {
            (step.experts.choice.experts, step.experts.choice.used)
            for step in products
            if step.experts
        }
        if len(choices) > 1:
            raise NoStepError("layers with several numbers of experts")
        self.experts = next(iter(choices), None)  # of a layer, and those that a token uses
        self.expert_rows = _matrices(step for step in products if step.experts)
        self.slices = _matrices(step for step in products if step.slice_width)
        weights = [weight for step in products for weight in step.weights]
        weights += [step.embedding for step in products if step.embedding is not None]
        self.formats = {weight.format.name for weight in weights} | {it.format for it in norms}

    @property
    def head_size(self) -> int:
        """Of the largest heads."""
        return max(self.head_sizes)

    @property
    def group_heads(self) -> int:
        """The most query heads that share a key/value head."""
        return max(self.groups_of_heads)

    @property
    def together(self) -> int:
        """The most query heads that a group attends for."""
        return max(map(heads_together, self.groups_of_heads))

    @property
    def scratch_floats(self) -> int:
        return self.copies(0) + MOST_GROUPS * self.width

    def scratch(self, start: int) -> StepScratch:
        """From float `start` of the work buffer on."""
        partials = Tensor(start + self.width, 1, self.partial_floats)
        return StepScratch(
            stream=Tensor(start, 1, self.width),
            partials=partials,
            window_partials=replace(partials, offset=partials.offset + partials.width),
            n_parts=MAX_PARTS,
        )

    def best(self, start: int) -> int:
        """The float where each group leaves its best logit and that one's id."""
        return start + self.width + 2 * self.partial_floats

    def sample_lists(self, start: int) -> tuple[int, int]:
        """The floats where the maxima of a draw lie, and the list of what it draws from."""
        maxima = self.best(start) + 2 * MOST_GROUPS
        return maxima, maxima + sample_scratch(MOST_GROUPS) - 2 * LISTED

    def copies(self, start: int) -> int:
        """The float where the groups' own copies of the residual stream lie."""
        return self.sample_lists(start)[1] + 2 * LISTED

    def kernel(
        self,
        subgroup_size: int,
        shared_memory: int,
        cases: Sequence[str],
        *,
        context: int,
        has_integer_dot: bool,
    ) -> Kernel | None:
        """None where the kernel does not fit the model or the device (`shared_memory` in bytes).

        `context` are the most tokens of a sequence.
        """
        pages = LEAST_PAGES
        while pages * PAGE_CELLS < context:
            pages *= 2
        if (
            subgroup_size < 8
            or any(size & (size - 1) for size in self.head_sizes)
            or min(self.head_sizes) < 2 * max(subgroup_size, RESIDENT_SUBGROUPS)
            or self.part_width > MOST_PART_VALUES * subgroup_size
        ):
            return None
        kernel = steps_kernel(
            subgroup_size=subgroup_size,
            head_sizes=self.head_sizes,
            together=self.together,
            lane_cells=lane_cells(self.head_size),
            pages=pages,
            input_size=self.longest_input,
            model_width=self.longest_normed,
            formats=self.formats,
            experts=self.experts,
            expert_rows=self.expert_rows,
            slices=self.slices,
            has_integer_dot=has_integer_dot,
            cases=cases,
        )
        return kernel if self._shared_bytes(subgroup_size) + 4 * pages <= shared_memory else None

    def _shared_bytes(self, subgroup_size: int) -> int:
        runs = -(-self.longest_input // 128) * 8
        unit_quads = 2 * min(self.head_size // 8, subgroup_size)  # see attend_heads.glslh
        pool = 16 * max(2 * runs, RESIDENT_SUBGROUPS * unit_quads, self.longest_normed // 4)
        heads = self.together * 4 * (self.head_size + 2 * RESIDENT_SUBGROUPS)
        cell = 4 * self.head_size
        experts = 0 if self.experts is None else 8 * (self.experts[0] + self.experts[1])
        return pool + 8 * runs + heads + cell + experts + SMALL_SHARED


def sizes_or_none(tape: Tape, in_ram: Collection[str]) -> StepSizes | None:
    """None where the kernel has no steps for it."""
    try:
        return StepSizes(tape, in_ram)
    except NoStepError:
        return None


def _matrices(steps: Iterable[Product]) -> set[str]:
    found = (step.matrices(weight.format.name) for step in steps for weight in step.weights)
    return {matrices for matrices in found if matrices is not None}
