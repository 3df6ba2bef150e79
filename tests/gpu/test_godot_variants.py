"""Every type that crosses, from GDScript through a Python class and back, and from Python through
GDScript.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.godot_script import compile_script

from godot import (
    RID,
    Callable,
    Node,
    NodePath,
    PackedByteArray,
    PackedFloat32Array,
    PackedInt32Array,
    PackedStringArray,
    RenderingServer,
    StringName,
    exposed,
)


@exposed
class VariantEcho(Node):
    """Gives back what it gets, and says what it was in Python."""

    def same(self, value: Any) -> Any:
        return value

    def kind(self, value: Any) -> str:
        return type(value).__name__

    def text(self, value: str) -> str:
        return value

    def whole(self, value: int) -> int:
        return value

    def real(self, value: float) -> float:
        return value

    def truth(self, value: bool) -> bool:
        return value

    def items(self, value: list[Any]) -> list[Any]:
        return value

    def table(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return value

    def data(self, value: PackedByteArray) -> PackedByteArray:
        return value

    def strings(self, value: PackedStringArray) -> PackedStringArray:
        return value

    def node(self, value: Node) -> Node:
        return value


@pytest.fixture
def echo() -> Any:
    made = VariantEcho()
    yield made
    made.free()


# GDScript expression, the Python type it becomes
EXPRESSIONS = [
    pytest.param("null", "NoneType", id="null"),
    pytest.param("true", "bool", id="true"),
    pytest.param("false", "bool", id="false"),
    pytest.param("0", "int", id="zero"),
    pytest.param("-1", "int", id="a negative int"),
    pytest.param("9223372036854775807", "int", id="the largest int"),
    pytest.param("-9223372036854775807 - 1", "int", id="the smallest int"),
    pytest.param("0.1", "float", id="a float"),
    pytest.param("INF", "float", id="infinity"),
    pytest.param("-0.0", "float", id="negative zero"),
    pytest.param('""', "str", id="an empty string"),
    pytest.param('"abc"', "str", id="a short string"),
    pytest.param('"ЖЖ 中文 🙂 e\\u0301"', "str", id="text beyond ASCII"),
    pytest.param('"x".repeat(100000)', "str", id="a long string"),
    pytest.param('&"name"', "StringName", id="a StringName"),
    pytest.param('&"имя"', "StringName", id="a StringName beyond ASCII"),
    pytest.param('^"A/B:position"', "NodePath", id="a NodePath"),
    pytest.param("[]", "list", id="an empty array"),
    pytest.param('[1, "два", [2.5, [null, {}]], true]', "list", id="nested arrays"),
    pytest.param("{}", "dict", id="an empty dictionary"),
    pytest.param('{1: "a", "b": [1], null: {2.5: &"c"}}', "dict", id="a nested dictionary"),
    pytest.param("PackedByteArray()", "PackedByteArray", id="no bytes"),
    pytest.param("PackedByteArray([0, 1, 255])", "PackedByteArray", id="bytes"),
    pytest.param("PackedInt32Array([-2147483648, 7])", "PackedInt32Array", id="packed ints"),
    pytest.param("PackedInt32Array()", "PackedInt32Array", id="no packed ints"),
    pytest.param("PackedFloat32Array([0.5, -1e30])", "PackedFloat32Array", id="packed floats"),
    pytest.param('PackedStringArray(["", "é", "b"])', "PackedStringArray", id="packed strings"),
    pytest.param("PackedStringArray()", "PackedStringArray", id="no packed strings"),
    pytest.param("RID()", "RID", id="an empty RID"),
    pytest.param("Callable()", "Callable", id="an empty Callable"),
    pytest.param("Callable(self, &'hash_of')", "Callable", id="a Callable"),
    pytest.param("RefCounted.new()", "RefCounted", id="an object that is counted"),
    pytest.param("Engine", "Engine", id="a singleton"),
]


@pytest.mark.parametrize(("expression", "python_type"), EXPRESSIONS)
def test_a_value_comes_back_from_python(echo: Any, expression: str, python_type: str) -> None:
    script = compile_script(
        f"""
        func hash_of() -> int:
            return 1

        func check(echo: Node) -> String:
            var given: Variant = {expression}
            var back: Variant = echo.same(given)
            if typeof(back) != typeof(given):
                return "type %d became %d" % [typeof(given), typeof(back)]
            if back != given:
                return "%s became %s" % [given, back]
            return echo.kind(given)
        """
    )
    assert script.check(echo) == python_type


PYTHON_VALUES = [
    pytest.param(None, "null", id="None"),
    pytest.param(True, "true", id="True"),
    pytest.param(2**62 + 1, str(2**62 + 1), id="an int beyond 32 bits"),
    pytest.param(-(2**63), "(-9223372036854775807 - 1)", id="the smallest int"),
    pytest.param(math.pi, repr(math.pi), id="a float"),
    pytest.param("", '""', id="an empty str"),
    pytest.param("Ж🙂", '"Ж🙂"', id="a str beyond ASCII"),
    pytest.param(StringName("s"), '&"s"', id="a StringName"),
    pytest.param(NodePath("a/b"), '^"a/b"', id="a NodePath"),
    pytest.param([], "[]", id="an empty list"),
    pytest.param([1, [2, {"a": None}], (3,)], '[1, [2, {"a": null}], [3]]', id="nested lists"),
    pytest.param({"k": [1.5]}, '{"k": [1.5]}', id="a dict"),
    pytest.param(b"", "PackedByteArray()", id="empty bytes"),
    pytest.param(b"\0\xff", "PackedByteArray([0, 255])", id="bytes"),
    pytest.param(bytearray(b"ab"), "PackedByteArray([97, 98])", id="a bytearray"),
    pytest.param(memoryview(b"ab")[1:], "PackedByteArray([98])", id="a memoryview"),
    pytest.param(PackedInt32Array([1, -1]), "PackedInt32Array([1, -1])", id="packed ints"),
    pytest.param(PackedFloat32Array([0.5]), "PackedFloat32Array([0.5])", id="packed floats"),
    pytest.param(PackedStringArray(["a"]), 'PackedStringArray(["a"])', id="packed strings"),
    pytest.param(RID(0), "RID()", id="an empty RID"),
]


@pytest.mark.parametrize(("value", "expression"), PYTHON_VALUES)
def test_a_python_value_arrives_as(value: Any, expression: str) -> None:
    script = compile_script(
        f"""
        func check(given: Variant) -> bool:
            var wanted: Variant = {expression}
            return typeof(given) == typeof(wanted) and given == wanted

        func back() -> Variant:
            return {expression}
        """
    )
    assert script.check(value)
    if isinstance(value, memoryview):
        value = bytes(value)
    assert script.back() == (
        [1, [2, {"a": None}], [3]] if value == [1, [2, {"a": None}], (3,)] else value
    )


def test_typed_methods_round_trip_through_typed_gdscript(echo: Any) -> None:
    script = compile_script(
        """
        func check(echo: VariantEcho) -> Array:
            var text: String = echo.text("Ж🙂")
            var whole: int = echo.whole(-5000000000)
            var real: float = echo.real(0.25)
            var truth: bool = echo.truth(true)
            var items: Array = echo.items([1, ["a"]])
            var table: Dictionary = echo.table({"a": 1})
            var data: PackedByteArray = echo.data(PackedByteArray([1, 2]))
            var strings: PackedStringArray = echo.strings(PackedStringArray(["x"]))
            var node: Node = echo.node(echo)
            var nothing: Node = echo.node(null)
            return [text, whole, real, truth, items, table, data, strings, node == echo, nothing]
        """
    )
    assert script.check(echo) == [
        "Ж🙂", -5000000000, 0.25, True, [1, ["a"]], {"a": 1}, b"\x01\x02", ["x"], True, None,
    ]  # fmt: skip


def test_an_int_parameter_takes_a_float_and_the_reverse(echo: Any) -> None:
    script = compile_script(
        "func check(e: Node) -> Array:\n\treturn [e.whole(2.9), e.real(2), e.text(&'s')]"
    )
    result = script.check(echo)
    assert result == [2, 2.0, "s"]
    assert [type(item) for item in result] == [int, float, str]


def test_a_type_without_counterpart_is_refused_by_name() -> None:
    script = compile_script("func make() -> Variant:\n\treturn Transform3D.IDENTITY")
    with pytest.raises(TypeError, match="Transform3D"):
        script.make()


def test_the_rest_of_an_array_is_read_when_one_element_cannot_be() -> None:
    script = compile_script("func make() -> Array:\n\treturn ['a', Vector2.ONE, 'b']")
    with pytest.raises(TypeError, match="Vector2"):
        script.make()


def test_a_list_that_holds_itself_is_refused(echo: Any) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        echo.set_meta("endless", endless)


def test_an_int_beyond_64_bits_is_refused(echo: Any) -> None:
    with pytest.raises(OverflowError):
        echo.set_meta("large", 2**64)


def test_a_rid_keeps_its_number() -> None:
    rid = RenderingServer.canvas_create()
    script = compile_script("func id_of(rid: RID) -> int:\n\treturn rid.get_id()")
    assert script.id_of(rid) == rid.id == int(rid) != 0
    assert rid.is_valid()
    RenderingServer.free_rid(rid)


class TestPackedByteArray:
    def test_is_written_in_place(self) -> None:
        array = PackedByteArray(4)
        view = array.view()
        view[1:3] = b"ab"
        script = compile_script("func text(data: PackedByteArray) -> Array:\n\treturn Array(data)")
        assert script.text(array) == [0, 97, 98, 0]

    def test_writing_does_not_change_what_the_engine_holds(self, echo: Any) -> None:
        array = PackedByteArray(b"abc")
        echo.set_meta("data", array)
        array.view()[0] = 0
        assert echo.get_meta("data", None) == b"abc"
        assert array == b"\0bc"

    def test_a_view_outlives_the_array(self) -> None:
        views = [PackedByteArray(bytes([i]) * 1000).view() for i in range(50)]
        assert all(bytes(view) == bytes([i]) * 1000 for i, view in enumerate(views))

    def test_a_large_one_is_zero_at_first(self) -> None:
        assert PackedByteArray(1_000_000) == bytes(1_000_000)
        assert PackedFloat32Array(3).tolist() == [0.0] * 3

    def test_floats_keep_their_values_whatever_they_come_from(self) -> None:
        numpy = pytest.importorskip("numpy")
        for kind in (numpy.float32, numpy.float64, numpy.int64):
            assert PackedFloat32Array(numpy.arange(3, dtype=kind)).tolist() == [0.0, 1.0, 2.0]
        assert PackedInt32Array(numpy.arange(3)).tolist() == [0, 1, 2]
        assert len(PackedInt32Array(numpy.int64(5))) == 5
        assert PackedByteArray(numpy.arange(2, dtype=numpy.uint32)) == bytes(4) + b"\1\0\0\0"


def test_an_empty_callable_is_not_valid() -> None:
    script = compile_script("func make() -> Callable:\n\treturn Callable()")
    made = script.make()
    assert isinstance(made, Callable)
    assert not made.is_valid()
