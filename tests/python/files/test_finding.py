"""Model files are found by their names, each once."""

from pathlib import Path

from llm.files.finding import files_of, find_models


def made(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(*folders: Path) -> list[str]:
    return [Path(path).name for path in find_models(map(str, folders))]


def test_files_in_folders(tmp_path: Path) -> None:
    made(tmp_path, "b.gguf", "deep/er/A.GGUF", "notes.txt", "deep/gguf", "c.gguf.part")
    assert found(tmp_path) == ["A.GGUF", "b.gguf"]


def test_of_several_files_the_first(tmp_path: Path) -> None:
    parts = [f"m-{index:05}-of-00003.gguf" for index in (1, 2, 3)]
    made(tmp_path, *parts, "x-00002-of-00002.gguf")
    assert found(tmp_path) == [parts[0]]
    assert files_of(str(tmp_path / parts[0])) == [str(tmp_path / part) for part in parts]


def test_folders_with_safetensors(tmp_path: Path) -> None:
    made(tmp_path, "model/config.json", "model/a.safetensors", "model/sub/x.gguf")
    made(tmp_path, "other/config.json", "z/w.safetensors")
    assert found(tmp_path) == ["model"]
    files = files_of(str(tmp_path / "model"))
    assert sorted(Path(path).name for path in files) == ["a.safetensors", "config.json"]


def test_hidden_folders_only_where_they_are_named(tmp_path: Path) -> None:
    made(tmp_path, ".models/a.gguf", "seen/.cache/b.gguf")
    assert found(tmp_path) == []
    assert found(tmp_path, tmp_path / ".models") == ["a.gguf"]


def test_each_once(tmp_path: Path) -> None:
    made(tmp_path, "in/a.gguf")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    assert found(tmp_path, tmp_path / "in", tmp_path / "link") == ["a.gguf"]


def test_what_is_not_there(tmp_path: Path) -> None:
    assert found(tmp_path / "nowhere") == []
