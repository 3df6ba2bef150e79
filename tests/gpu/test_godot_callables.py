"""Callables and signals, both ways, and calls from other threads."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
from support.godot_log import engine_errors
from support.godot_script import compile_script

from godot import BoundSignal, Callable, Node, exposed, signal
from godot.command import PythonCommand


@exposed
class SignalSource(Node):
    happened = signal(id=int, text=str)

    def fire(self, number: int) -> None:
        self.happened.emit(number, f"number {number}")

    def next_event(self) -> BoundSignal:
        return self.happened

    def thread_name(self) -> str:
        return threading.current_thread().name

    def sum_up(self, count: int) -> int:
        return sum(range(count))


@pytest.fixture
def source() -> Any:
    made = SignalSource()
    yield made
    if not made.is_freed():
        made.free()


def test_gdscript_calls_a_python_callable() -> None:
    script = compile_script("func use(f: Callable) -> Variant:\n\treturn f.call(2, 'x')")
    assert script.use(lambda a, b: [b, a]) == ["x", 2]
    assert script.use(lambda *rest: len(rest)) == 2


def test_a_python_callable_comes_back_as_itself() -> None:
    script = compile_script("func same(f: Callable) -> Callable:\n\treturn f")

    def function() -> None: ...

    assert script.same(function) is function


def test_python_calls_a_gdscript_callable() -> None:
    script = compile_script(
        """
        func double(x: int) -> int:
            return 2 * x

        func make() -> Callable:
            return double

        func make_lambda(n: int) -> Callable:
            return func(x: int) -> int: return x + n
        """
    )
    double = script.make()
    assert isinstance(double, Callable)
    assert double(21) == 42
    assert double.is_valid()
    assert double.get_method() == "double"
    assert double == script.make()
    assert script.make_lambda(3)(4) == 7


def test_a_gdscript_callable_keeps_no_object_alive_after_it_is_freed() -> None:
    script = compile_script(
        """
        func make() -> Callable:
            var node: Node = Node.new()
            var made: Callable = node.get_child_count
            node.free()
            return made
        """
    )
    made = script.make()
    assert not made.is_valid()


def test_an_exception_in_a_callable_is_reported_with_its_place() -> None:
    script = compile_script("func use(f: Callable) -> Variant:\n\treturn f.call()")

    def broken() -> None:
        raise KeyError("missing")

    with engine_errors() as errors:
        assert script.use(broken) is None
    assert errors[0]["code"] == "KeyError: 'missing'"
    assert errors[0]["function"].endswith("broken")
    assert errors[0]["line"] == broken.__code__.co_firstlineno + 1


def test_a_callable_is_let_go_with_the_last_who_holds_it() -> None:
    class Held:
        def __call__(self) -> int:
            return 1

    script = compile_script("var kept: Callable\n\nfunc keep(f: Callable) -> void:\n\tkept = f")
    held = Held()
    watch = weakref.ref(held)
    script.keep(held)
    del held
    gc.collect()
    assert watch() is not None
    assert script.kept() == 1
    script.keep(Callable())
    gc.collect()
    assert watch() is None


class TestSignals:
    def test_python_to_python(self, source: Any) -> None:
        heard: list[Any] = []
        source.happened.connect(lambda *given: heard.append(given))
        source.fire(3)
        assert heard == [(3, "number 3")]

    def test_python_to_gdscript(self, source: Any) -> None:
        script = compile_script(
            """
            var heard: Array = []

            func listen(source: SignalSource) -> void:
                source.happened.connect(func(id: int, text: String) -> void: heard.append([id,
                text]))
            """
        )
        script.listen(source)
        source.fire(4)
        assert script.heard == [[4, "number 4"]]

    def test_gdscript_awaits_a_signal_that_a_method_gives(self, source: Any) -> None:
        script = compile_script(
            """
            var heard: Array = []

            func listen(source: SignalSource) -> void:
                heard.append(await source.next_event())
            """
        )
        script.listen(source)
        assert script.heard == []
        source.fire(4)
        assert script.heard == [[4, "number 4"]]

    def test_a_signal_as_a_value(self, source: Any) -> None:
        script = compile_script(
            """
            func name_of(given: Signal) -> String:
                return given.get_name()

            func owner_of(given: Variant) -> Object:
                return (given as Signal).get_object()
            """
        )
        assert script.name_of(source.happened) == "happened"
        assert script.owner_of(source.happened) == source
        with pytest.raises(TypeError, match="wrong type"):
            script.name_of(3)

    def test_gdscript_to_python(self) -> None:
        script = compile_script(
            "signal done(what: String)\n\nfunc finish() -> void:\n\tdone.emit('it')"
        )
        heard: list[str] = []
        script.connect("done", heard.append)
        script.finish()
        assert heard == ["it"]

    def test_a_bound_method_is_disconnected_by_an_equal_one(self, source: Any) -> None:
        class Listener:
            count = 0

            def hear(self, *_: Any) -> None:
                self.count += 1

        listener = Listener()
        source.happened.connect(listener.hear)
        assert source.happened.is_connected(listener.hear)
        source.fire(1)
        source.happened.disconnect(listener.hear)
        source.fire(2)
        assert listener.count == 1
        assert not source.happened.is_connected(listener.hear)

    def test_connecting_twice_is_an_error(self, source: Any) -> None:
        source.happened.connect(print)
        with engine_errors(), pytest.raises(ValueError, match="happened"):
            source.happened.connect(print)

    def test_engine_signals_are_attributes(self, node: Any) -> None:
        child = Node()
        heard: list[str] = []
        child.tree_entered.connect(lambda: heard.append("entered"))
        node.add_child(child)
        assert heard == ["entered"]
        child.free()

    def test_the_connection_of_a_freed_listener_is_gone(self, source: Any) -> None:
        listener = SignalSource()
        source.happened.connect(listener.sum_up)
        listener.free()
        with engine_errors() as errors:
            source.fire(1)
        assert errors == []


class TestThreads:
    SCRIPT = """
    func on_thread(node: SignalSource, count: int) -> Array:
        var threads: Array[Thread] = []
        for i: int in 4:
            var thread: Thread = Thread.new()
            thread.start(func() -> Array:
                var found: Array = []
                for j: int in count:
                    found.append(node.sum_up(100))
                found.append(node.thread_name())
                return found)
            threads.append(thread)
        var all: Array = []
        for thread: Thread in threads:
            all.append(thread.wait_to_finish())
        return all

    func make_on_thread() -> Node:
        var thread: Thread = Thread.new()
        thread.start(func() -> Node: return PythonCommand.new())
        return thread.wait_to_finish()

    func free_on_thread(node: Node) -> void:
        var thread: Thread = Thread.new()
        thread.start(func() -> void: node.free())
        thread.wait_to_finish()
    """

    def test_engine_threads_call_python(self, source: Any) -> None:
        results = compile_script(self.SCRIPT).on_thread(source, 200)
        assert [found[:-1] for found in results] == [[4950] * 200] * 4
        assert all(found[-1] != threading.main_thread().name for found in results)

    def test_an_instance_is_made_on_one_thread_and_freed_on_another(self) -> None:
        script = compile_script(self.SCRIPT)
        made = script.make_on_thread()
        assert isinstance(made, PythonCommand)
        script.free_on_thread(made)
        assert made.is_freed()

    def test_python_threads_call_the_engine(self, source: Any) -> None:
        failures: list[BaseException] = []

        def work(index: int) -> None:
            try:
                for i in range(300):
                    source.set_meta(f"key{index}", [i, str(i)])
                    assert source.get_meta(f"key{index}", None) == [i, str(i)]
            except BaseException as error:
                failures.append(error)

        # One key a thread is set before: the engine's dictionary must not grow under two threads.
        threads = [threading.Thread(target=work, args=(0,))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
