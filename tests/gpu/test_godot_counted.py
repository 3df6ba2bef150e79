"""Exposed RefCounted classes: the engine's references and Python's together keep an object."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from support.engine_project import EngineProject
from support.godot_log import engine_errors
from support.godot_script import compile_script

from godot import (
    ClassDB,
    FreedObjectError,
    Node,
    Object,
    Performance,
    RefCounted,
    Resource,
    export,
    exposed,
    signal,
)


@exposed
class CountedUnderTest(RefCounted):
    """A class whose objects Python makes."""

    label = export(str, default="new")
    other = export(RefCounted)
    pinged = signal(text=str)

    def __init__(self) -> None:
        self.heard: list[str] = []

    def rename(self, label: str) -> None:
        self.label = label


@exposed
class ChildCounted(CountedUnderTest):
    def shout(self) -> str:
        return self.label.upper()


def object_count() -> int:
    gc.collect()
    return int(Performance.get_monitor(Performance.OBJECT_COUNT))


class TestMadeByPython:
    def test_it_has_one_reference_and_goes_with_it(self) -> None:
        before = object_count()
        made = CountedUnderTest()
        assert made.get_reference_count() == 1
        del made
        assert object_count() == before

    def test_the_engine_keeps_its_attributes_after_python_dropped_it(self) -> None:
        made = CountedUnderTest()
        made.heard.append("before")
        holder = Node()
        holder.set_meta("thing", made)
        del made
        gc.collect()
        found = holder.get_meta("thing", None)
        assert found.heard == ["before"]
        found.unforeseen = 3
        assert holder.get_meta("thing", None).unforeseen == 3
        assert found == holder.get_meta("thing", None)
        holder.free()
        assert found.heard == ["before"]
        assert found.get_reference_count() == 1

    def test_a_script_uses_it_and_drops_it(self) -> None:
        script = compile_script(
            """
            var held: CountedUnderTest

            func hold(thing: CountedUnderTest) -> int:
                held = thing
                held.rename("held")
                return held.get_reference_count()

            func let_go() -> void:
                held = null
            """
        )
        made = CountedUnderTest()
        script.hold(made)
        assert made.get_reference_count() == 2
        script.let_go()
        assert (made.get_reference_count(), made.label) == (1, "held")

    def test_the_last_reference_may_be_the_engines(self) -> None:
        before = object_count()
        holder = Node()
        holder.set_meta("thing", CountedUnderTest())
        holder.set_meta("more", [CountedUnderTest(), {"inner": CountedUnderTest()}])
        assert object_count() == before + 4
        holder.free()
        assert object_count() == before

    def test_a_class_may_inherit_an_exposed_one(self) -> None:
        made = ChildCounted()
        script = compile_script("func check(o: ChildCounted) -> String:\n\treturn o.shout()")
        assert script.check(made) == "NEW"
        assert isinstance(made, CountedUnderTest)

    def test_objects_in_a_chain_go_together(self) -> None:
        before = object_count()
        first = made = CountedUnderTest()
        for _ in range(300):
            made.other = CountedUnderTest()
            made = made.other
        del first, made
        assert object_count() == before

    def test_another_thread_may_drop_it(self) -> None:
        before = object_count()
        held = [CountedUnderTest() for _ in range(50)]
        dropping = threading.Thread(target=held.clear)
        dropping.start()
        dropping.join()
        assert object_count() == before

    def test_signals_reach_it(self) -> None:
        made, other = CountedUnderTest(), CountedUnderTest()
        made.pinged.connect(other.rename)
        made.pinged.emit("told")
        assert other.label == "told"

    def test_it_is_not_freed_by_hand(self) -> None:
        with pytest.raises(TypeError, match="not freed by hand"):
            CountedUnderTest().free()


def test_what_is_kept_while_it_dies_is_freed_for_python_too() -> None:
    last_words: list[Any] = []

    @exposed
    class Speaking(CountedUnderTest):
        def _notification(self, what: int) -> None:
            if what == Object.NOTIFICATION_PREDELETE:
                last_words.append(self)

    made = Speaking()
    made.label = "last"
    del made
    (kept,) = last_words
    assert kept.label == "last"
    assert kept.is_freed()
    with pytest.raises(FreedObjectError):
        kept.get_reference_count()


def test_an_object_of_another_class_is_refused() -> None:
    @exposed
    class Holding(Node):
        thing = export(CountedUnderTest)
        resource = export(Resource)

    info = ClassDB.class_get_property_list("Holding", True)
    hints = {each["name"]: (each["hint"], each["hint_string"]) for each in info}
    assert hints["resource"] == (17, "Resource")
    made = Holding()
    assert (made.thing, made.resource) == (None, None)
    made.thing = ChildCounted()
    with pytest.raises(TypeError, match="expected CountedUnderTest or None, found Resource"):
        made.thing = Resource()
    script = compile_script("func check(o: Node) -> void:\n\to.thing = Resource.new()")
    with engine_errors() as errors:
        script.check(made)
    assert len(errors) == 1
    assert "'thing'" in errors[0]["code"]
    assert isinstance(made.thing, ChildCounted)
    made.free()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    project = EngineProject(tmp_path_factory.mktemp("counted"), module="support.counted_classes")
    return project.report("counted_check.gd")


class TestMadeByAScript:
    def test_only_the_script_counts(self, report: dict[str, Any]) -> None:
        assert report["counts"] == [1, 1, 2]
        assert report["same"] is True

    def test_it_goes_with_the_scripts_last_reference(self, report: dict[str, Any]) -> None:
        assert (report["before_drop"], report["after_drop"]) == ([], ["dropped"])

    def test_init_may_hand_it_out(self, report: dict[str, Any]) -> None:
        assert report["handed_out"] == 7

    def test_python_keeps_what_the_script_dropped(self, report: dict[str, Any]) -> None:
        assert report["python_still_has"] == [[], "kept by Python"]
        assert report["python_dropped"] == ["kept by Python"]

    def test_the_script_keeps_what_python_dropped(self, report: dict[str, Any]) -> None:
        assert report["script_still_has"] == [[], "made by Python"]
        assert report["script_dropped"] == ["made by Python"]

    def test_properties_and_containers_keep_it(self, report: dict[str, Any]) -> None:
        assert report["holder_has"] == [[], "exported"]
        assert report["holder_freed"] == ["exported"]
        assert report["container_has"] == [[], "listed", "nested"]
        assert report["container_cleared"] == ["listed", "nested"]
        assert report["chain_dropped"] == ["outer", "inner"]

    def test_a_property_refuses_another_class(self, report: dict[str, Any]) -> None:
        assert report["refused"] is True

    def test_ten_thousand_leave_nothing_behind(self, report: dict[str, Any]) -> None:
        objects, memory = report["grown"]
        assert objects == 0
        assert memory < 100_000

    def test_the_engine_ends_without_a_word(self, report: dict[str, Any]) -> None:
        assert "ERROR" not in report["stderr"]
        assert "WARNING" not in report["stderr"], "leaked"
