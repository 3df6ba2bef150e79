"""Probes find what a device can, and notice a driver that gets it wrong."""

import pytest
from support import kernel_bench
from support.kernel_bench import KernelBench

from llm.gpu import state
from llm.gpu.kernels import variants
from llm.gpu.kernels.shader_source import expand

RIGHT = "return signed_dot(a, b, 0);"


def found(bench: KernelBench, kernel: str) -> int:
    bench.put_state(PICK_IDS=7)
    bench.run([(kernel, {}, (1, 1, 1))])
    return int(bench.words("state", state.PICK_IDS, 1)[0])


def test_subgroups(bench: KernelBench) -> None:
    assert found(bench, "probe_subgroups") in (4, 8, 16, 32, 64)


@pytest.mark.parametrize("seed", [0, 1, 77, 2**32 - 1])
def test_integer_dot(bench: KernelBench, seed: int) -> None:
    bench.put_state(ROWS=seed)
    assert found(bench, "probe_integer_dot") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param("return signed_dot(a, b, 0) + 1;", id="one too many"),
        pytest.param("return signed_dot(a & 0x7FFFFFFFu, b, 0);", id="one byte has no sign"),
        pytest.param("return signed_dot(a, b & 0xFFFFFFu, 0);", id="one byte is left out"),
        pytest.param("return clamp(signed_dot(a, b, 0), -32768, 32767);", id="saturated"),
        pytest.param(
            "return gl_LocalInvocationID.x == 63u ? 0 : signed_dot(a, b, 0);", id="in one thread"
        ),
    ],
)
def test_wrong_integer_dots(
    bench: KernelBench, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    source = expand("probe_integer_dot")
    assert RIGHT in source
    name = f"probe_integer_dot {wrong}"
    monkeypatch.setitem(variants.KERNELS, name, variants.KERNELS["probe_integer_dot"])
    monkeypatch.setattr(kernel_bench, "expand", lambda _name: source.replace(RIGHT, wrong))
    bench.put_state(ROWS=5)
    assert found(bench, name) == 0
