"""Jobs run in their order, on a thread that ends with the last of them."""

import threading

from llm.generate.background import Background

LIMIT_S = 5.0


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "llm-files"]


def test_jobs_in_their_order() -> None:
    background, done, is_over = Background(), [], threading.Event()
    for number in range(20):
        background.post(lambda number=number: done.append(number))
    background.post(is_over.set)
    assert is_over.wait(LIMIT_S)
    assert done == list(range(20))
    for thread in threads():
        thread.join(LIMIT_S)
    assert not threads()


def test_it_begins_again() -> None:
    background = Background()
    for _ in range(3):
        is_over = threading.Event()
        background.post(is_over.set)
        assert is_over.wait(LIMIT_S)


def test_stop_waits_for_what_is_being_done_and_forgets_the_rest() -> None:
    background, begun, may_end, done = Background(), threading.Event(), threading.Event(), []

    def job() -> None:
        begun.set()
        may_end.wait(LIMIT_S)
        done.append("first")

    background.post(job)
    background.post(lambda: done.append("second"))
    assert begun.wait(LIMIT_S)
    threading.Timer(0.05, may_end.set).start()
    background.stop()
    assert done == ["first"]
    assert not threads()


def test_stop_with_nothing_to_do() -> None:
    Background().stop()
