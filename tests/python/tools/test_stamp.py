"""A stamp is current only for a finished product of the same inputs."""

import os
from pathlib import Path

from setup.stamp import Stamp, changes, contents


def test_a_stamp_is_current_only_after_the_work_ended(tmp_path: Path) -> None:
    stamp = Stamp(tmp_path / "product" / "stamp", "inputs")
    assert not stamp.is_current()
    stamp.write()
    assert stamp.is_current()
    stamp.clear()
    assert not stamp.is_current()
    stamp.clear()  # a second time does no harm


def test_other_inputs_make_it_stale(tmp_path: Path) -> None:
    Stamp(tmp_path / "stamp", "one", "two").write()
    assert not Stamp(tmp_path / "stamp", "one", "three").is_current()
    assert not Stamp(tmp_path / "stamp", "one").is_current()


def test_contents_sees_bytes_and_names_but_not_times(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    before = contents([file])
    os.utime(file, ns=(1, 1))
    assert contents([file]) == before
    file.write_text("y")
    assert contents([file]) != before


def test_changes_sees_times_and_new_files(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    before = changes([file])
    assert changes([file]) == before
    os.utime(file, ns=(1, 1))
    assert changes([file]) != before
    other = tmp_path / "b.txt"
    other.write_text("x")
    assert changes([file, other]) != changes([file])
