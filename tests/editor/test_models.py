"""Model files in the editor: seen, never imported, dropped on a node, and chosen in the manager."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType as Type
from support.editor_project import Driven, EditorProject
from support.random_model import write_random_model
from support.sample_gguf import gemma_shaped
from support.tiny_adapter import write_tiny_adapter
from support.tiny_llama import write_tiny_llama

HERE = Path(__file__).parent
PICTURE = HERE.parents[1] / "docs" / "pictures" / "manager.png"
HUGE = 20 << 30
URL = "https://example.org:443/Qwen/Qwen3-4B-GGUF/resolve/main/Qwen3-4B-Q4_K_M.gguf"
PART = f"Qwen3-4B-Q4_K_M.gguf.{hashlib.md5(URL.encode()).hexdigest()[:8]}.part"
RECORD = '[part]\n\nurl="%s"\nvalidator="\\"abc\\""\ntotal=2497280256\n'


@pytest.fixture(scope="module")
def project_with_models(new_project: Callable[..., EditorProject]) -> EditorProject:
    """Models of every kind, a sparse one that must cost nothing, and half a download."""
    project = new_project()
    models = project.folder / "models"
    models.mkdir()
    gemma_shaped(1_000).write(models / "gemma.gguf")
    tiny = write_tiny_llama(models / "tiny-llama-q4_k.gguf")
    write_tiny_adapter(models / "pirate-lora.gguf", tiny)
    write_random_model(
        models / "newest-7b-q6_k.gguf",
        "newest",
        {"newest.block_count": 2, "newest.embedding_length": 64, "newest.attention.head_count": 2},
        {"layer.weight": (3, 64)},
        {"layer": Type.F32},
    )
    write_sparse(models / PART, 1 << 30)
    (models / f"{PART}.info").write_text(RECORD % URL)
    write_sparse(models / "huge.gguf", HUGE)
    project.run("--headless", "--import")  # the folder is known when the editor opens
    return project


def write_sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.write(b"GGUF\3\0\0\0")
        file.truncate(size)


@pytest.fixture(scope="module")
def driven(project_with_models: EditorProject) -> Driven:
    # From the second session on the dock shows them.
    project_with_models.drive(HERE / "drive_start.gd")
    return project_with_models.drive(HERE / "drive_models.gd")


def test_files_are_seen_and_are_no_resources(
    driven: Driven, project_with_models: EditorProject
) -> None:
    assert driven.report["types"] == ["OtherFile", "OtherFile"]
    assert not list((project_with_models.folder / "models").glob("*.import"))
    assert driven.report["read"] < HUGE // 10


def test_a_selected_file_shows_its_facts(driven: Driven) -> None:
    facts = driven.report["facts"]
    assert facts[facts.index("architecture") + 1] == "gemma3"
    assert facts[facts.index("context length") + 1] == "32,768"


def test_a_file_is_dropped_on_a_property(driven: Driven) -> None:
    assert driven.report["takes"] == [True, False, True, False]
    assert driven.report["dropped"] == "res://models/gemma.gguf"
    assert driven.report["about"].startswith("gemma3, 101 M, ")
    assert driven.report["undone"] == ""


def test_the_manager_gives_the_selected_node_its_model(driven: Driven) -> None:
    assert driven.report["use"] == "Use in Main"
    assert driven.report["used"] == "res://models/gemma.gguf"
    assert driven.report["downloads_go_to"] == "res://models"


def test_disabled_it_leaves_all_as_it_was(driven: Driven) -> None:
    assert driven.report["shown"].split(",")[-1] == "gguf"
    assert "gguf" not in driven.report["shown_without"]
    assert driven.report["managers"] == [True, False]


def test_without_complaints(driven: Driven) -> None:
    assert not driven.complaints


def test_pictures(driven: Driven, project_with_models: EditorProject) -> None:
    """With DOCS_PICTURES in the environment they become those of the documents."""
    for name in ("manager_default", "manager_light", "inspector", "property"):
        assert project_with_models.picture(name).stat().st_size > 4_000
    if "DOCS_PICTURES" in os.environ:
        shutil.copyfile(project_with_models.picture("manager_default"), PICTURE)
