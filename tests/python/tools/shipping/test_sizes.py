"""What a game weighs."""

from pathlib import Path

from shipping import sizes


def test_parts_are_added_up(tmp_path: Path) -> None:
    runtime = tmp_path / "llm.linux.x86_64"
    (runtime / "lib").mkdir(parents=True)
    (runtime / "lib" / "zeros").write_bytes(bytes(3_000_000))
    (runtime / "llm.zip").write_bytes(bytes(range(256)) * 7)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf").write_bytes(bytes(1_250_000))
    plain, compressed = sizes.of(runtime)
    assert plain == 3_000_000 + 256 * 7
    assert 0 < compressed < 10_000
    rows = [row.split() for row in sizes.table(tmp_path).splitlines()]
    assert ["llm.linux.x86_64/", "3.0", "0.0"] in rows
    assert ["lib", "3.0", "0.0"] in rows
    assert rows[-1] == ["models/tiny.gguf", "1.2"]
