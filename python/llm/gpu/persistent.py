"""The persistent executor: one dispatch for one token, or for many, where the device allows it.

Groups of the kernel stay resident, read fused steps from a buffer, and meet at a barrier of our own
between them, a microsecond where a dispatch with a barrier costs five. Prompts run as the dispatch
executor runs them. Source of the idea: Hazy Research 2025, a megakernel for Llama-1B.
"""

import time
from collections.abc import Collection, Generator
from typing import Any

import numpy as np

from llm.errors import DeviceError
from llm.files.gguf import GgufFile
from llm.gpu import state
from llm.gpu.dispatch import DispatchExecutor
from llm.gpu.fusion import Fusion, NoStepError
from llm.gpu.kernels import PERSISTENT_SUBGROUPS, Kernel, pack_params, persistent_kernel
from llm.gpu.operations import Attend, Embed, Tensor
from llm.gpu.penalties import Penalties
from llm.gpu.profile import RunProfile, WorkTime, make_profile
from llm.gpu.program import Batch, Candidates, Floats, Program, until_stop
from llm.gpu.rendering_device import RenderingDevice
from llm.gpu.residency import MOST_GROUPS, resident_groups
from llm.gpu.sampler import Sampler
from llm.gpu.shader_source import expand, expand_kernel
from llm.gpu.steps import NOTHING, STEP_WORDS, Product, Step, Words
from llm.gpu.tape import Tape

MAX_PARTS = 16  # of the cells of a key/value head
PROBE_STEPS = 8
PROBE_SPINS = 20_000  # looks at a barrier, some milliseconds
SPINS = 1_000_000  # more than half a second where a look takes 0.6 us: no step takes that long
SMALL_SHARED = 2048  # bytes of the kernel's small shared arrays together
TOKENS_A_SUBMIT = 8  # some milliseconds: more would gain 3 % and make answers come in bursts


class PersistentExecutor(DispatchExecutor):
    """See `Executor`. A dispatch executor where the device or the model allows no more."""

    def __init__(self, program: Program, device: RenderingDevice) -> None:
        sizes = self._sizes = _sizes_of(program.record(1, 1))
        super().__init__(program, device, sizes.scratch_floats if sizes else 0)
        width, partial_floats = (sizes.width, sizes.partial_floats) if sizes else (0, 0)
        self._spare = Tensor(self._scratch.start, 1, width)
        self._partials = self._scratch.start + width
        self._best = self._partials + partial_floats
        self._pipeline: Any = None
        self._shader: Any = None
        self._groups = 0  # resident together; 0: this executor is as good as dispatch
        self._steps: Any = None  # the buffer
        self._n_steps = 0
        self._set: Any = None
        self._batch = Batch((), (), ())
        self._is_settled = True  # nothing of the last run can still go wrong

    @classmethod
    def load(
        cls, program: Program, file: GgufFile, device: RenderingDevice
    ) -> Generator[float, None, DispatchExecutor]:
        executor = yield from super().load(program, file, device)
        assert isinstance(executor, PersistentExecutor)
        try:
            executor._prepare()
        except BaseException:
            executor.close()
            raise
        return executor

    def run(self, batch: Batch) -> None:
        self._batch = batch
        self._is_settled = not (self._groups and len(batch.tokens) == len(batch.outputs) == 1)
        if self._is_settled:
            super().run(batch)
        else:
            self._logits = self._tape(1, 1).logits
            self._write_state(batch)
            self._play(1)

    def candidates(self, output: int, k: int, penalties: Penalties | None) -> Candidates:
        is_plain = penalties is None or penalties.changes_nothing
        if not self._is_settled and k == 1 and is_plain:
            try:
                return self._read_picks(1)
            except _GaveUpError:
                self._fall_back()
        self._settle()
        return super().candidates(output, k, penalties)

    def decode(
        self, token: int, position: int, count: int, sampler: Sampler, stops: Collection[int]
    ) -> list[int]:
        found: list[int] = []
        while self._groups and sampler.temperature == 0.0 and len(found) < count:
            n_tokens = min(TOKENS_A_SUBMIT, count - len(found))
            last = found[-1] if found else token
            self._write_state(Batch([last], [position + len(found)], [0]))
            self._play(n_tokens)
            try:
                found += until_stop(self._read_picks(n_tokens).ids.tolist(), stops)
                if found[-1] in stops:
                    return found
            except _GaveUpError:
                self._fall_back()
        if len(found) < count:
            last = found[-1] if found else token
            start = position + len(found)
            found += super().decode(last, start, count - len(found), sampler, stops)
        return found

    def logits(self, outputs: int) -> Floats:
        self._settle()
        return super().logits(outputs)

    def profile(self, batch: Batch) -> RunProfile:
        if not self._groups or len(batch.tokens) != 1:
            return super().profile(batch)
        self.run(batch)
        self._settle()
        kinds: dict[str, list[Words]] = {}
        for step in self._fused():
            kinds.setdefault(step.label, []).append(step.pack(self._layout))
        times = [self._time_steps(label, np.stack(words)) for label, words in kinds.items()]
        return make_profile(self._n_steps, times)

    def _time_steps(self, label: str, words: Words) -> WorkTime:
        """Steps of one kind, in one dispatch, as often as TOKENS_A_SUBMIT tokens need them."""
        buffer, uniform_set = self._upload_steps(words)
        row = self._row_of(uniform_set, len(words), TOKENS_A_SUBMIT, self._groups, SPINS)
        table = self._device.table([row])
        for _ in range(2):  # the first is a warm-up
            self._write_state(self._batch)
            self._device.finish()
            started = time.perf_counter()
            self._device.play(table)
            self._device.finish()
            seconds = time.perf_counter() - started
        self._device.free(buffer)
        return WorkTime(label, len(words), seconds / (len(words) * TOKENS_A_SUBMIT) * 1e6)

    def _fused(self) -> list[Step]:
        return Fusion(self._spare, self._partials, MAX_PARTS).fuse(self._tape(1, 1))

    def _read_picks(self, count: int) -> Candidates:
        words = self._read_state()
        if words[state.GAVE_UP]:
            raise _GaveUpError
        return self._picks_of(words, count)

    def _settle(self) -> None:
        """Makes sure that the logits of the last run are there."""
        if not self._is_settled and self._read_state()[state.GAVE_UP]:
            self._fall_back()
            super().run(self._batch)
        self._is_settled = True

    def _fall_back(self) -> None:
        """The groups did not run together after all: from here on one dispatch an operation."""
        self._groups = 0
        self.name, self.ahead = DispatchExecutor.name, DispatchExecutor.ahead

    def _play(self, n_tokens: int) -> None:
        key = ("persistent", n_tokens, self._groups)
        table = self._tables.get(key)
        if table is None:
            row = self._row_of(self._set, self._n_steps, n_tokens, self._groups, SPINS)
            table = self._tables[key] = self._device.table([row])
        self._device.play(table)

    def _prepare(self) -> None:
        """Compiles the kernel, finds how many groups are resident, packs the steps."""
        sizes = self._sizes
        size = self._subgroup_size() if sizes else 0
        kernel = sizes.kernel(self._device, len(self._shards), size) if sizes else None
        if kernel is None:
            return
        name = f"persistent {sorted(kernel.defines.items())}"
        try:
            self._pipeline = self._device.pipeline(name, expand_kernel(kernel))
        except DeviceError:
            return  # a driver that cannot make it still runs dispatches
        self._shader = self._device.shader(name)
        probe = np.zeros((PROBE_STEPS, STEP_WORDS), np.uint32)
        probe[:, 0] = NOTHING
        buffer, uniform_set = self._upload_steps(probe)
        self._groups = resident_groups(lambda groups: self._meet(uniform_set, groups))
        self._device.free(buffer)
        if self._groups == 0:
            return
        steps = self._fused()
        packed = np.stack([step.pack(self._layout) for step in steps])
        self._steps, self._set = self._upload_steps(packed)
        self._buffers.append(self._steps)
        self._n_steps = len(steps)
        self.name = "persistent"
        self.ahead = TOKENS_A_SUBMIT

    def _subgroup_size(self) -> int:
        """Threads of a subgroup; 0 where the device has none that sum up rightly."""
        name = "probe_subgroups"
        try:
            pipeline = self._device.pipeline(name, expand(name))
        except DeviceError:
            return 0
        row = (pipeline, self._sets[0], pack_params(name), (1, 1, 1), False)
        self._device.play(self._device.table([row]))
        return int(self._read_state()[state.PICK_IDS])

    def _upload_steps(self, words: np.ndarray) -> tuple[Any, Any]:
        buffer = self._device.buffer(words.nbytes, "the steps")
        data = self._device.staging(words.nbytes)
        data.view()[:] = words.tobytes()
        self._device.write(buffer, 0, data, words.nbytes)
        shard = self._shards[0]
        bindings = [shard, shard, *[self._work] * 3, *[self._cache] * 2, self._state, buffer]
        return buffer, self._device.uniform_set(bindings, self._shader)

    def _meet(self, uniform_set: Any, groups: int) -> bool:
        self._write_state(Batch([0], [0], [0]))
        row = self._row_of(uniform_set, PROBE_STEPS, 1, groups, PROBE_SPINS)
        self._device.play(self._device.table([row]))
        words = self._read_state()
        return not words[state.GAVE_UP] and int(words[state.ARRIVALS]) == PROBE_STEPS * groups

    def _row_of(
        self, uniform_set: Any, n_steps: int, n_tokens: int, groups: int, spins: int
    ) -> tuple[Any, ...]:
        parameters = pack_params(
            "persistent", n_steps=n_steps, n_tokens=n_tokens, best=self._best, spins=spins
        )
        return self._pipeline, uniform_set, parameters, (groups, 1, 1), False


class _GaveUpError(Exception):
    """A group did not come to a barrier in time."""


def _sizes_of(tape: Tape) -> "_Sizes | None":
    """None where the kernel has no steps for what the architecture does."""
    try:
        return _Sizes(tape)
    except NoStepError:
        return None


class _Sizes:
    """What a tape asks of the persistent kernel."""

    def __init__(self, tape: Tape) -> None:
        attention = [op for op in tape.operations if isinstance(op, Attend)]
        first = attention[0]
        self.width = next(op.y.width for op in tape.operations if isinstance(op, Embed))
        self.head_size = first.q.width // first.heads
        self.group_heads = first.heads // first.kv_heads
        self.partial_floats = first.heads * MAX_PARTS * (self.head_size + 4)
        self.scratch_floats = self.width + self.partial_floats + 2 * MOST_GROUPS
        fusion = Fusion(Tensor(tape.work_floats, 1, self.width), 0, MAX_PARTS)
        products = [step for step in fusion.fuse(tape) if isinstance(step, Product)]
        self.longest_input = max(step.width for step in products)
        weights = [weight for step in products for weight in step.weights]
        weights += [step.embedding for step in products if step.embedding is not None]
        self.formats = {weight.format.name for weight in weights}

    def kernel(self, device: RenderingDevice, n_shards: int, subgroup_size: int) -> Kernel | None:
        """None where the kernel does not fit the model or the device."""
        if (
            n_shards != 1
            or subgroup_size == 0
            or self.head_size % (2 * subgroup_size)
            or self.group_heads >= PERSISTENT_SUBGROUPS
        ):
            return None
        kernel = persistent_kernel(
            subgroup_size=subgroup_size,
            head_size=self.head_size,
            group_heads=self.group_heads,
            longest_input=self.longest_input,
            formats=self.formats,
        )
        shared = 4 * (kernel.defines["VECTOR_SIZE"] + (self.group_heads + 1) * self.head_size)
        return kernel if shared + SMALL_SHARED <= device.shared_memory else None
