"""`./llm info`: the facts of sound files, whether they fit, and one line for all others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.architectures.gemma4 import write_gemma4
from support.gguf_builder import GgufBuilder
from support.loading import finish
from support.random_model import write_random_model
from support.sample_gguf import gemma_shaped, rich
from support.tiny_adapter import RANK, write_tiny_adapter
from support.tiny_folders import in_type, llama_folder
from support.tiny_llama import MIXED, write_tiny_llama

from llm.commands import info
from llm.commands.info import main
from llm.generate.model import load_model
from llm.gpu.device.vulkan_memory import DeviceMemory


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> str:
    return gemma_shaped(1_000).write(tmp_path_factory.mktemp("models") / "gemma.gguf")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU of 1 GiB, of which half is free, and 2 GiB of RAM."""
    gpu = DeviceMemory("A card", False, 1 << 30, 1 << 29)
    monkeypatch.setattr(info, "device_memory", lambda: gpu)
    monkeypatch.setattr(info, "available_ram", lambda: 2 << 30)


def facts_of(path: str, capfd: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    assert main(None, [path, "--json", *options]) == 0
    found = capfd.readouterr()
    assert (found.err, found.out.count("\n")) == ("", 1)
    return json.loads(found.out)


def test_json(gemma: str, capfd: pytest.CaptureFixture[str]) -> None:
    embedding = 1_000 * 640
    weights_of_layer = 640 * (1024 + 256 + 256 + 1024 + 3 * 2048)
    norms_of_layer = 4 * 640 + 2 * 256
    cache = 18 * 1 * (256 + 256) * 4096 * 2
    found = facts_of(gemma, capfd)
    formats = found.pop("formats")
    assert found == {
        "file": gemma,
        "file_bytes": os.path.getsize(gemma),
        "kind": "GGUF version 3",
        "architecture": "gemma3",
        "supported": True,
        "problem": None,
        "name": "Gemma-shaped",
        "parameters": embedding + 640 + 18 * (weights_of_layer + norms_of_layer),
        "tensor_bytes": sum(share["bytes"] for share in formats.values()),
        "context_length": 32768,
        "layers": 18,
        "width": 640,
        "heads": 4,
        "kv_heads": 1,
        "head_size": 256,
        "vocabulary": 1_000,
        "tokenizer": "llama",
        "chat_template": None,
        "memory_context": 4096,
        "cache_bytes": cache,
        "gpu_bytes": found["gpu_bytes"],
        "table_bytes": 0,
        "tables_on_gpu": False,
        "numpy_bytes": found["numpy_bytes"],
        "gpu": {"device": "A card", "is_cpu": False, "total": 1 << 30, "free": 1 << 29},
        "available_ram": 2 << 30,
    }
    activations = 18 << 20  # of 512 tokens at once
    assert 0 < found["gpu_bytes"] - found["tensor_bytes"] - cache < activations
    assert 0 < found["numpy_bytes"] - 4 * found["parameters"] - cache < activations
    assert list(formats) == ["q5_0", "q6_k", "q4_k", "q8_0", "f32"]  # the largest first
    assert formats["q8_0"] == {
        "tensors": 19,
        "parameters": embedding + 18 * 256 * 640,
        "bytes": (embedding + 18 * 256 * 640) // 32 * 34,
    }


def test_table(gemma: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(None, [gemma]) == 0
    lines = capfd.readouterr().out.splitlines()
    rows = {line[:17].strip(): line[17:].strip() for line in lines}
    assert rows["architecture"] == "gemma3"
    assert rows["parameters"] == "101 M (100,966,016)"
    assert rows["context length"] == "32,768"
    assert rows["chat template"] == "none"
    assert rows["q4_k"] == "6.3 MiB  in 18 tensors"
    assert rows["weights"] == "69.2 MiB"
    assert rows["memory"] == "158.3 MiB at 4,096 tokens, with 72.0 MiB of keys and values"
    assert rows["on the GPU"] == "fits: takes 158.3 MiB, 512.0 MiB of 1.0 GiB are free on A card"
    assert rows["on numpy"] == "fits: takes 459.5 MiB, 2.0 GiB of RAM are available"


def test_a_file_that_says_little(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = rich().write(tmp_path / "rich.gguf")
    found = facts_of(path, capfd)
    assert found["name"] == "A rich file: ünïcode 🦊"
    assert found["supported"] is False  # its formats are not all for the kernels
    for key in ("layers", "heads", "vocabulary", "tokenizer", "cache_bytes", "gpu_bytes"):
        assert found[key] is None
    assert main(None, [path]) == 0
    table = capfd.readouterr().out
    assert "layers           not given\n" in table
    assert "memory" not in table


def test_heads_may_differ_by_layer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = GgufBuilder().add("general.architecture", "odd").add("odd.block_count", 3)
    made.add("odd.embedding_length", 64).add("odd.context_length", 100)
    made.add("odd.attention.head_count", np.array([8, 8, 4], np.int32))
    made.add("odd.attention.head_count_kv", np.array([4, 2, 1], np.int32))
    found = facts_of(made.write(tmp_path / "m.gguf"), capfd)
    assert found["supported"] is False
    assert (found["heads"], found["kv_heads"], found["head_size"]) == (8, 4, 8)
    assert found["memory_context"] == 100
    assert found["cache_bytes"] == (4 + 2 + 1) * (8 + 8) * 100 * 2


def table_of(path: str, capfd: pytest.CaptureFixture[str], *options: str) -> dict[str, str]:
    assert main(None, [path, *options]) == 0
    lines = capfd.readouterr().out.splitlines()
    return {line[:17].strip(): line[17:].strip() for line in lines}


@pytest.mark.parametrize(
    ("gpu", "ram", "on_gpu", "on_numpy"),
    [
        pytest.param(
            DeviceMemory("A card", False, 1 << 30, 1 << 20),
            1 << 20,
            "does not fit: takes 158.3 MiB, 1.0 MiB of 1.0 GiB are free on A card",
            "does not fit: takes 459.5 MiB, 1.0 MiB of RAM are available",
            id="too small",
        ),
        pytest.param(
            DeviceMemory("A card", False, 1 << 30, None),
            None,
            "fits: takes 158.3 MiB, 1.0 GiB are there on A card",
            "takes 459.5 MiB; this system does not say how much there is",
            id="a driver and a system that say less",
        ),
        pytest.param(
            DeviceMemory("llvmpipe", True, 1 << 20, 1 << 20),
            2 << 30,
            "fits: takes 158.3 MiB, 2.0 GiB of RAM are available to llvmpipe",
            "fits: takes 459.5 MiB, 2.0 GiB of RAM are available",
            id="a software driver",
        ),
        pytest.param(
            None,
            2 << 30,
            "no Vulkan device was found",
            "fits: takes 459.5 MiB, 2.0 GiB of RAM are available",
            id="no device",
        ),
    ],
)
def test_whether_it_fits(
    gemma: str,
    gpu: DeviceMemory | None,
    ram: int | None,
    on_gpu: str,
    on_numpy: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(info, "device_memory", lambda: gpu)
    monkeypatch.setattr(info, "available_ram", lambda: ram)
    rows = table_of(gemma, capfd)
    assert (rows["on the GPU"], rows["on numpy"]) == (on_gpu, on_numpy)


@pytest.mark.parametrize(
    ("gpu", "is_on_gpu"),
    [
        pytest.param(DeviceMemory("A card", False, 1 << 30, None), True, id="room"),
        pytest.param(DeviceMemory("A card", False, 1 << 20, None), False, id="too small"),
        pytest.param(DeviceMemory("llvmpipe", True, 1 << 30, None), False, id="a software driver"),
        pytest.param(None, False, id="no device"),
    ],
)
def test_where_per_layer_embeddings_go(
    tmp_path: Path,
    gpu: DeviceMemory | None,
    is_on_gpu: bool,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = str(write_gemma4(tmp_path / "m.gguf"))
    table = 300 * 9 * 32 * 4
    monkeypatch.setattr(info, "device_memory", lambda: gpu)
    found = facts_of(path, capfd, "--context", "80")
    assert (found["table_bytes"], found["tables_on_gpu"]) == (table, is_on_gpu)
    monkeypatch.setattr(info, "device_memory", lambda: None)
    without = facts_of(path, capfd, "--context", "80")
    assert found["gpu_bytes"] - without["gpu_bytes"] == (table if is_on_gpu else 0)
    monkeypatch.setattr(info, "device_memory", lambda: gpu)
    where = "on the GPU" if is_on_gpu else "in RAM, beside that: the file, mapped"
    assert table_of(path, capfd)["per layer"] == f"337.5 KiB of embeddings, {where}"


def test_a_longer_context_takes_more(gemma: str, capfd: pytest.CaptureFixture[str]) -> None:
    found = facts_of(gemma, capfd, "--context", "20000")
    assert found["memory_context"] == 20_000
    assert found["cache_bytes"] == -(-20_000 // 64) * 64 * 18 * 512 * 2
    assert facts_of(gemma, capfd, "--context", "99999")["memory_context"] == 32_768


def test_numpy_takes_what_a_load_takes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(write_tiny_llama(tmp_path / "m.gguf"))
    steps = load_model(path, executor="reference", context_length=80)
    found = facts_of(path, capfd, "--context", "80")
    model = finish(steps)
    activations = found["numpy_bytes"] - model.memory_bytes
    assert 0 < activations < 2 << 20


def test_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = write_tiny_llama(tmp_path / "m.gguf", formats=dict.fromkeys(MIXED, Type.F32))
    made = llama_folder(tmp_path / "folder", plain, in_type("F16"), files=2)
    rows = table_of(str(made), capfd)
    size = sum(path.stat().st_size for path in made.glob("*.safetensors"))
    assert rows["size"].endswith("MiB, a Hugging Face folder of 2 safetensors files")
    assert facts_of(str(made), capfd)["file_bytes"] == size
    assert (rows["name"], rows["runs here"]) == ("folder", "yes")


def test_a_folder_as_it_would_be_quantised(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plain = write_tiny_llama(tmp_path / "m.gguf", formats=dict.fromkeys(MIXED, Type.F32))
    whole = facts_of(str(plain), capfd)
    smaller = facts_of(str(plain), capfd, "--quantize", "q8_0")
    assert list(whole["formats"]) == ["f32"]
    assert list(smaller["formats"]) == ["q8_0", "f32"]
    assert smaller["tensor_bytes"] < 0.28 * whole["tensor_bytes"]


def test_an_adapter(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = write_tiny_llama(tmp_path / "tiny.gguf")
    path = str(write_tiny_adapter(tmp_path / "lora.gguf", model, metadata={"general.name": "Poet"}))
    found = facts_of(path, capfd)
    sizes = (512 + 320, 128 + 320, 320 + 512, 800 + 320, 320 + 800)  # M + K
    assert found == {
        "file": path,
        "kind": "GGUF version 3",
        "file_bytes": os.path.getsize(path),
        "name": "Poet",
        "architecture": "llama",
        "adapter": "lora",
        "alpha": 12.0,
        "rank": RANK,
        "matrices": 15,
        "tensors": 30,
        "parameters": 3 * RANK * sum(sizes),
    }
    assert main(None, [path]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[1].startswith("kind             LoRA adapter, GGUF version 3, ")
    assert "tensors          30, of 15 matrices" in lines


def test_an_adapter_that_does_not_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = write_tiny_llama(tmp_path / "tiny.gguf")
    path = write_tiny_adapter(tmp_path / "x.gguf", model, metadata={"adapter.type": "ia3"})
    assert main(None, [str(path)]) == 1
    error = f"llm: {path}: adapter.type is 'ia3'; this build runs lora\n"
    assert capfd.readouterr() == ("", error)


def test_an_architecture_that_does_not_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sizes = {"block_count": 3, "embedding_length": 64, "attention.head_count": 2}
    made = write_random_model(
        tmp_path / "m.gguf",
        "unheard_of",
        {f"unheard_of.{key}": size for key, size in sizes.items()},
        {"layer.weight": (3, 64)},
        {"layer": Type.F32},
    )
    rows = table_of(str(made), capfd)
    assert rows["runs here"].startswith(
        "no: general.architecture is 'unheard_of'; this build runs bert, "
    )
    assert rows["layers"] == "3"
    assert "on numpy" not in rows
    assert "on the GPU" in rows


def test_the_family_of_the_template(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = gemma_shaped(300).add("tokenizer.chat_template", "<start_of_turn>user")
    rows = table_of(made.write(tmp_path / "m.gguf"), capfd)
    assert rows["chat template"] == "Gemma"


def test_text_of_the_file_cannot_break_the_table(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = GgufBuilder().add("general.architecture", "x").add("general.name", "two\nlines\x1b[31m")
    assert main(None, [made.write(tmp_path / "m.gguf")]) == 0
    assert "name             two\\nlines\\x1b[31m\n" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "file: is empty (0 bytes)", id="empty"),
        pytest.param(
            GgufBuilder().add("general.name", "x").build(),
            "general.architecture: is missing from the metadata",
            id="no architecture",
        ),
        pytest.param(
            GgufBuilder().add("general.architecture", 3).build(),
            "general.architecture: expected text, found 3",
            id="a number for an architecture",
        ),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, content: bytes, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two\nlines.gguf"
    path.write_bytes(content)
    assert main(None, [str(path), "--json"]) == 1
    found = capfd.readouterr()
    assert found.out == ""
    assert found.err == f"llm: {tmp_path}/two\\nlines.gguf: {message}\n"


def test_as_a_program(gemma: str) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "llm.commands.info", *arguments],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "python")},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run(gemma).stdout.startswith(f"file             {gemma}\n")
    assert run(gemma + "x").returncode == 1
    assert run().returncode == 2
