"""An exposed class written in parts, its static methods, and arrays of numbers as values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.godot_log import engine_errors
from support.godot_script import compile_script

from godot import (
    RANGE,
    ClassDB,
    Node,
    PackedFloat32Array,
    PackedInt32Array,
    Resource,
    export,
    exposed,
    signal,
)
from godot.docs import class_page
from godot.registration import registered


class Warm:
    """A part that knows no engine."""

    heat = export(float, default=0.5, hint=RANGE, hint_string="0,1", doc="How warm.", group="Heat")
    glow = export(bool, group="Heat")
    shared = export(int, default=1)
    warmed = signal(by=float, doc="It is warmer.")

    def warm(self, by: float = 0.25) -> float:
        """Adds [param by]."""
        self.heat += by
        self.warmed.emit(by)
        return self.heat

    def _enter_tree(self) -> None:
        self.heat = 1.0


class Counting:
    count = export(int, doc="How many.")
    step = export(int, default=2, group="Steps")

    def __init__(self) -> None:
        self.ready_count = 7

    def next(self) -> int:
        """The next."""
        self.count += self.step
        return self.count

    def describe(self) -> str:
        return "a part"


@exposed
class MadeOfParts(Warm, Counting, Node):
    """A node in parts."""

    title = export(str, group="Title")
    shared = export(str, default="its own")

    def describe(self) -> str:
        return "the whole, with " + super().describe()


@exposed
class MadeOfMore(MadeOfParts):
    extra = export(int)


@exposed
class AnotherOfParts(Resource, Counting):
    """The engine's class may come first."""


@pytest.fixture
def made() -> Any:
    made = MadeOfParts()
    yield made
    made.free()


def shown(class_name: str) -> list[str]:
    """Properties and groups (usage 64), as the inspector has them."""
    infos = ClassDB.class_get_property_list(class_name, True)
    return [f"[{info['name']}]" if info["usage"] & 64 else info["name"] for info in infos]


class TestParts:
    def test_they_are_told_as_its_own_with_groups_of_their_own(self) -> None:
        assert ClassDB.get_parent_class("MadeOfParts") == "Node"
        assert shown("MadeOfParts") == [
            *("[Title]", "title", "[]", "shared", "[Heat]", "heat", "glow"),
            *("[]", "count", "[Steps]", "step"),
        ]
        assert shown("AnotherOfParts") == ["count", "[Steps]", "step"]

    def test_a_class_that_inherits_it_tells_none_again(self) -> None:
        assert shown("MadeOfMore") == ["extra"]
        assert not ClassDB.class_has_method("MadeOfMore", "warm", True)
        made = MadeOfMore()
        assert (made.next(), made.extra) == (2, 0)
        made.free()

    def test_scripts_use_all_of_it(self, made: Any) -> None:
        script = compile_script(
            """
            var heard: Array[float] = []

            func check(node: MadeOfParts) -> Array:
                node.warmed.connect(heard.append)
                node.step = 5
                return [node.warm(), node.warm(0.5), node.next(), node.describe(), node.shared]
            """
        )
        assert script.check(made) == [0.75, 1.25, 5, "the whole, with a part", "its own"]
        assert script.heard == [0.25, 0.5]

    def test_constructors_and_virtual_methods_run(self, made: Any, node: Any) -> None:
        assert made.ready_count == 7
        node.add_child(made)
        assert made.heat == 1.0
        node.remove_child(made)

    def test_types_are_checked(self, made: Any) -> None:
        with pytest.raises(TypeError, match="expected int"):
            made.step = "far"

    def test_a_resource_has_values_of_its_own(self) -> None:
        one, two = AnotherOfParts(), AnotherOfParts()
        one.next()
        assert (one.count, two.count) == (2, 0)

    def test_the_help_describes_them(self) -> None:
        page = class_page(registered["MadeOfParts"])
        for text in ("How warm.", "It is warmer.", "Adds [param by].", "How many.", "The next."):
            assert text in page


@exposed
class Numbers(Node):
    """Arithmetic for all."""

    weights = export(PackedFloat32Array)
    indices = export(PackedInt32Array)

    count = export(int, group="Computed")

    @count.getter
    def count(self) -> int:
        return len(self.weights)

    @count.setter
    def count(self, value: int) -> None:
        self.weights = [1.0] * value

    @staticmethod
    def dot(a: PackedFloat32Array, b: PackedFloat32Array, scale: float = 1.0) -> float:
        """The product of two vectors."""
        return scale * sum(x * y for x, y in zip(a, b, strict=True))

    @staticmethod
    def ramp(count: int, kind: str) -> PackedFloat32Array:
        made: Any = np.arange(count) / 2
        return made if kind == "float64" else made.astype("f4") if kind == "f4" else made.tolist()

    @staticmethod
    def wrong() -> PackedFloat32Array:
        return 3

    def rows(self, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "id": i, "vector": PackedFloat32Array([i])} for i, row in enumerate(given)]

    @staticmethod
    def _hidden(a: int) -> int:
        return a


@pytest.fixture
def numbers() -> Any:
    made = Numbers()
    yield made
    made.free()


class TestStaticMethods:
    def test_scripts_call_them_on_the_class_and_on_objects(self, numbers: Any) -> None:
        script = compile_script(
            """
            func check(o: Numbers) -> Array:
                var a: PackedFloat32Array = [1.0, 2.0]
                return [Numbers.dot(a, a), o.dot(a, a, 0.5), o.call("dot", a, [3, 4])]
            """
        )
        assert script.check(numbers) == [5.0, 2.5, 11.0]

    def test_the_engine_and_the_help_know_them_as_static(self) -> None:
        methods = {each["name"]: each for each in ClassDB.class_get_method_list("Numbers", True)}
        assert methods["dot"]["flags"] & 32
        assert not methods["rows"]["flags"] & 32
        assert "_hidden" not in methods
        assert '<method name="dot" qualifiers="static">' in class_page(registered["Numbers"])
        assert '<method name="rows"><' in class_page(registered["Numbers"])


class TestArrays:
    @pytest.mark.parametrize("kind", ["float64", "f4", "list"])
    def test_numpy_and_lists_become_packed_floats(self, numbers: Any, kind: str) -> None:
        script = compile_script(
            "func check(k: String) -> PackedFloat32Array:\n\treturn Numbers.ramp(3, k)"
        )
        assert script.check(kind) == [0.0, 0.5, 1.0]
        numbers.weights = Numbers.ramp(3, kind)
        assert isinstance(numbers.weights, PackedFloat32Array)
        assert numbers.weights == [0.0, 0.5, 1.0]

    def test_what_is_no_array_is_refused(self, numbers: Any) -> None:
        for wrong in (3, "text", None, ["text"]):
            with pytest.raises(TypeError, match="expected PackedFloat32Array, found"):
                numbers.weights = wrong
        script = compile_script("func check() -> Variant:\n\treturn Numbers.wrong()")
        with engine_errors() as errors:
            assert script.check() == []
        assert "expected PackedFloat32Array, found int" in errors[0]["code"]

    def test_properties_begin_empty(self, numbers: Any) -> None:
        script = compile_script(
            """
            func check(o: Numbers) -> Array:
                o.indices.append(1)
                o.indices += PackedInt32Array([4, 5])
                return [o.weights, o.indices]
            """
        )
        weights, indices = script.check(numbers)
        assert (weights, indices) == ([], [4, 5])
        assert isinstance(weights, PackedFloat32Array)
        assert isinstance(indices, PackedInt32Array)

    def test_a_computed_property_is_shown_and_not_saved(self, numbers: Any) -> None:
        infos = ClassDB.class_get_property_list("Numbers", True)
        usage = {info["name"]: info["usage"] for info in infos}
        assert (usage["weights"], usage["count"]) == (6, 4)
        script = compile_script("func check(o: Numbers) -> int:\n\to.count = 3\n\treturn o.count")
        assert script.check(numbers) == 3
        assert numbers.weights == [1.0, 1.0, 1.0]

    def test_arrays_of_dictionaries_go_there_and_back(self, numbers: Any) -> None:
        script = compile_script(
            """
            func check(o: Numbers) -> Array:
                var given: Array[Dictionary] = [{"text": "Ж"}, {"text": "b", "inner": [{"a": 1}]}]
                var rows: Array = o.rows(given)
                var typed: Array[Dictionary] = []
                typed.assign(rows)
                return [typed, typed[1]["vector"][0]]
            """
        )
        rows, first = script.check(numbers)
        assert [row["text"] for row in rows] == ["Ж", "b"]
        assert [row["id"] for row in rows] == [0, 1]
        assert rows[1]["inner"] == [{"a": 1}]
        assert (rows[1]["vector"], first) == ([1.0], 1.0)
