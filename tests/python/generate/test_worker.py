"""The thread: it alone touches models, sessions take turns, and it stops in every phase."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from queue import Queue

import pytest
from support.fake_model import FakeLoader, FakeModel, says

from llm.generate.events import Ended, Event, Loaded, Updated
from llm.generate.library import LoadModel
from llm.generate.request import AnswerOptions, LoadSpec, Request, SamplingParams
from llm.generate.worker import THREAD_NAME, Worker

SPEC = LoadSpec("fake.gguf", "reference", 64)
OPTIONS = AnswerOptions(SamplingParams(temperature=0.0))
PATIENCE = 20  # seconds after which a test fails instead of hanging


class Gate:
    """Holds the worker where it calls `wait`, until it is opened."""

    def __init__(self, at: int = 0) -> None:
        self._at = at
        self._open = threading.Event()
        self.reached = threading.Event()

    def wait(self, number: int) -> None:
        if number == self._at and not self._open.is_set():
            self.reached.set()
            assert self._open.wait(PATIENCE)

    def open(self) -> None:
        self._open.set()


class Listener:
    """Another thread's side of one session."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.queue: Queue[Event] = Queue()
        self.session = worker.open_session(self.queue.put)

    def load(self, spec: LoadSpec = SPEC) -> None:
        self.worker.post(partial(self.session.load, spec))

    def ask(self, request_id: int, prompt: str = "Hi") -> None:
        request = Request(request_id, prompt, OPTIONS)
        self.worker.post(partial(self.session.answer, request))

    def until(self, kind: type[Event]) -> Event:
        while not isinstance(event := self.queue.get(timeout=PATIENCE), kind):
            pass
        return event

    def rest(self) -> list[Event]:
        return [self.queue.get_nowait() for _ in range(self.queue.qsize())]


class Workers:
    def __init__(self) -> None:
        self.made: list[Worker] = []

    def __call__(self, loader: LoadModel, **options: object) -> Worker:
        self.made.append(Worker(loader, **options))
        return self.made[-1]


@pytest.fixture
def start() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    for worker in workers.made:
        worker.stop()


def test_everything_runs_on_the_worker_thread(start: Workers) -> None:
    released: list[str] = []
    loader = FakeLoader(lambda: FakeModel(says("one")))
    worker = start(loader, release=lambda: released.append(threading.current_thread().name))
    listener = Listener(worker)
    listener.load()
    listener.ask(1)
    ended = listener.until(Ended)
    assert isinstance(ended, Ended)
    assert (ended.text, ended.stats.thread) == ("one", THREAD_NAME)
    worker.stop()
    # The fake model itself refuses calls from any other thread, closing included.
    assert loader.threads == {THREAD_NAME}
    assert [model.is_closed for model in loader.loaded] == [True]
    assert released == [THREAD_NAME]
    assert threading.current_thread().name != THREAD_NAME


def test_two_sessions_take_turns(start: Workers) -> None:
    order: list[str] = []
    gate = Gate()

    def model(name: str) -> FakeModel:
        return FakeModel(b"abcdefgh", before_forward=lambda number: order.append(name))

    loader = FakeLoader(lambda: model("x"), lambda: model("y"), before_piece=gate.wait)
    worker = start(loader)
    listeners = [Listener(worker), Listener(worker)]
    options = AnswerOptions(SamplingParams(temperature=0.0), max_tokens=8)
    for number, listener in enumerate(listeners):
        listener.load(replace(SPEC, path=f"{number}.gguf"))
        worker.post(partial(listener.session.answer, Request(number, "Hi", options)))
    gate.open()
    for listener in listeners:
        ended = listener.until(Ended)
        assert isinstance(ended, Ended)
        assert ended.text == "abcdefgh"
    leads = [order[:end].count("x") - order[:end].count("y") for end in range(len(order) + 1)]
    assert (len(order), leads[-1]) == (16, 0)
    assert max(map(abs, leads)) <= 2


@pytest.mark.parametrize("phase", ["idle", "loading", "loaded", "prefill", "decode"])
def test_stopping_in_every_phase(start: Workers, phase: str) -> None:
    piece = Gate(at=1 if phase == "loading" else -1)
    forward = Gate(at={"prefill": 1, "decode": 5}.get(phase, -1))
    loader = FakeLoader(
        lambda: FakeModel(b"abcdefgh", chunk_size=2, before_forward=forward.wait),
        before_piece=piece.wait,
    )
    worker = start(loader)
    listener = Listener(worker)
    if phase != "idle":
        listener.load()
    if phase == "loaded":
        listener.until(Loaded)
    if phase in ("loading", "prefill", "decode"):
        listener.ask(1, "12345")
        listener.ask(2, "12345")
        gate = piece if phase == "loading" else forward
        assert gate.reached.wait(PATIENCE)
        stopping = threading.Thread(target=worker.stop)
        stopping.start()  # it waits for the step that the gate holds
        while worker.post(lambda: None):
            pass
        gate.open()
        stopping.join(PATIENCE)
        ends = [(e.id, e.reason) for e in listener.rest() if isinstance(e, Ended)]
        assert ends == [(1, "cancelled"), (2, "cancelled")]
    worker.stop()
    assert not worker._thread.is_alive()
    assert loader.abandoned == (1 if phase == "loading" else 0)
    assert all(model.is_closed for model in loader.loaded)
    assert not worker.post(lambda: None), "nothing is taken any more"


def test_a_cancel_comes_between_two_steps(start: Workers) -> None:
    gate = Gate(at=3)
    worker = start(FakeLoader(lambda: FakeModel(b"abcdefgh", before_forward=gate.wait)))
    listener = Listener(worker)
    listener.load()
    listener.ask(1)
    assert gate.reached.wait(PATIENCE)
    worker.post(partial(listener.session.cancel, 1))
    gate.open()
    ended = listener.until(Ended)
    assert isinstance(ended, Ended)
    assert (ended.reason, ended.text) == ("cancelled", "abcd"), "the step that ran was finished"


def test_closing_a_session_frees_its_model(start: Workers) -> None:
    loader = FakeLoader(lambda: FakeModel(says("one")), lambda: FakeModel(says("two")))
    worker = start(loader)
    first, second = Listener(worker), Listener(worker)
    first.load()
    first.until(Loaded)
    worker.close_session(first.session)
    second.load()
    second.ask(2)
    second.until(Ended)
    assert [model.is_closed for model in loader.loaded] == [True, False]


def test_it_knows_whether_a_session_is_open(start: Workers) -> None:
    worker = start(FakeLoader())
    assert not worker.is_used
    first, second = Listener(worker), Listener(worker)
    worker.close_session(first.session)
    assert worker.is_used, "by the other"
    worker.close_session(second.session)
    assert not worker.is_used


def test_a_faulty_command_does_not_take_the_others_down(
    start: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = start(FakeLoader(lambda: FakeModel(says("one"))))
    listener = Listener(worker)
    worker.post(lambda: 1 // 0)
    listener.load()
    listener.ask(1)
    assert isinstance(listener.until(Ended), Ended)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_idle_worker_sleeps(start: Workers) -> None:
    worker = start(FakeLoader(lambda: FakeModel(says("one"))))
    listener = Listener(worker)
    listener.load()
    listener.ask(1)
    listener.until(Ended)
    ident = worker._thread.ident
    assert ident is not None
    clock = time.pthread_getcpuclockid(ident)
    before = time.clock_gettime(clock)
    threading.Event().wait(0.1)
    assert time.clock_gettime(clock) - before < 0.02, "seconds of CPU while there is nothing to do"


def test_updates_arrive_before_the_end(start: Workers) -> None:
    listener = Listener(start(FakeLoader(lambda: FakeModel(says("abc")))))
    listener.load()
    listener.ask(1)
    listener.until(Loaded)
    kinds = []
    while not kinds or kinds[-1] is not Ended:
        kinds.append(type(listener.queue.get(timeout=PATIENCE)))
    assert kinds == [Updated, Updated, Updated, Ended]


def test_answers_keep_to_the_time_of_frames(start: Workers) -> None:
    """Each forward takes 10 ms and a frame leaves 5: every second frame has one."""
    loader = FakeLoader(lambda: FakeModel(before_forward=lambda _: time.sleep(0.01)))
    listener = Listener(start(loader))
    listener.load()
    listener.until(Loaded)
    options = AnswerOptions(OPTIONS.sampling, max_tokens=30, frame_seconds=0.005)
    listener.worker.post(partial(listener.session.answer, Request(1, "Hi", options)))
    listener.until(Updated)
    [model] = loader.loaded
    before, started = len(model.forwards), time.perf_counter()
    for frame in range(20):
        time.sleep(0.016)
        listener.worker.begin_frame(frame)
    made = len(model.forwards) - before
    frames = (time.perf_counter() - started) / 0.016
    assert 4 <= made <= 0.75 * frames
    listener.until(Ended)  # without frames it goes on, slowly


def test_a_debt_is_nobody_elses(start: Workers) -> None:
    """An answer that is over, and took many frames' time, holds up none without a limit."""
    loader = FakeLoader(lambda: FakeModel(before_forward=lambda _: time.sleep(0.02)))
    listener = Listener(start(loader))
    listener.load()
    listener.until(Loaded)
    limited = AnswerOptions(OPTIONS.sampling, max_tokens=1, frame_seconds=0.0005)
    free = AnswerOptions(OPTIONS.sampling, max_tokens=5)
    listener.worker.post(partial(listener.session.answer, Request(1, "Hi", limited)))
    listener.until(Ended)
    started = time.perf_counter()
    listener.worker.post(partial(listener.session.answer, Request(2, "Ho", free)))
    listener.until(Ended)
    assert time.perf_counter() - started < 1.0, "the debt is 40 frames: without any, 4 s"
