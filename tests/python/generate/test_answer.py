"""One answer, stepped by hand: what it says, why it ends, and what it computes."""

from collections.abc import Sequence
from typing import Any

import pytest
from support.answering import GREEDY, HOT, chat, raw, run, seat_at, steps_of, token_ids
from support.fake_model import TURN_END, FakeModel, says

from llm.errors import DeviceError
from llm.generate.request import SamplingParams

WARM = SamplingParams(temperature=1.5, seed=3)


@pytest.mark.parametrize(
    ("script", "options", "pieces", "reason"),
    [
        pytest.param(says("abc"), {}, ["a", "b", "c"], "stop", id="the model ends it"),
        pytest.param(says(""), {}, [], "stop", id="the model ends it at once"),
        pytest.param(b"abcdef", {"max_tokens": 3}, ["a", "b", "c"], "length", id="max_tokens"),
        pytest.param(b"abc", {"max_tokens": 1}, ["a"], "length", id="one token"),
        pytest.param(b"ab\ncd", {"stop_words": ("\nc",)}, ["a", "b"], "stop_word", id="stop word"),
        pytest.param(
            b"ab\nxy", {"stop_words": ("\nc",), "max_tokens": 3}, ["a", "b", "\n"], "length",
            id="what was held back is shown at the end",
        ),
        pytest.param(
            "é!".encode(), {"max_tokens": 3}, ["é", "!"], "length", id="no half characters"
        ),
    ],
)  # fmt: skip
def test_how_it_ends(
    script: Sequence[int], options: dict[str, Any], pieces: list[str], reason: str
) -> None:
    found, ended = run(seat_at(FakeModel(script)), raw("Hi", **options))
    assert (found, ended.reason, ended.error) == (pieces, reason, "")


def test_the_end_of_a_turn_is_no_token_of_the_answer() -> None:
    assert token_ids(FakeModel(says("ab")), raw("Hi")) == list(b"ab")


@pytest.mark.parametrize(
    ("room", "reason", "text"),
    [
        pytest.param(-1, "error", "", id="one token longer than the context"),
        pytest.param(0, "error", "", id="as long as the context leaves no answer"),
        pytest.param(1, "length", "a", id="room for one"),
        pytest.param(2, "length", "ab", id="room for two"),
        pytest.param(4, "stop", "abc", id="room for all and the end"),
    ],
)
def test_at_the_edge_of_the_context(room: int, reason: str, text: str) -> None:
    model = FakeModel(says("abc"), context_length=20)
    prompt = "x" * (20 - room - 1)  # and one BOS
    _, ended = run(seat_at(model), raw(prompt))
    assert (ended.reason, ended.text) == (reason, text)
    if reason == "error":
        assert str(20 - room) in ended.error
        assert "context_length is 20" in ended.error
        assert model.forwards == [], "refused before anything is computed"


def test_an_empty_prompt_is_an_error() -> None:
    model = FakeModel()
    model.tokenizer.add_bos = False
    _, ended = run(seat_at(model), raw(""))
    assert (ended.reason, ended.error) == ("error", "the prompt is empty: it has no tokens")


def test_a_raw_prompt_may_hold_markers_and_a_message_may_not() -> None:
    model = FakeModel(says("", ""))
    seat = seat_at(model)
    run(seat, raw("a<end>"))
    assert model.kv() == [256, ord("a"), 257]
    run(seat, chat("a<end>"))
    assert 257 not in model.kv()


def test_the_prompt_runs_in_chunks_and_one_step_each() -> None:
    model = FakeModel(b"ab", chunk_size=8)
    answering = steps_of(seat_at(model), raw("x" * 19, max_tokens=2), lambda event: None)
    seen = []
    for _ in answering:
        seen.append(list(model.forwards))
    chunks = [(0, 8), (8, 8), (16, 4)]
    # before each chunk, and between the two tokens
    assert seen == [[], chunks[:1], chunks[:2], chunks]
    assert model.forwards == [*chunks, (20, 1)]


@pytest.mark.parametrize("steps", range(1, 7))
def test_cancelled_after_any_step(steps: int) -> None:
    model = FakeModel(b"abcdef", chunk_size=8)
    seat = seat_at(model)
    _, ended = run(seat, raw("x" * 19), steps=steps)
    assert (ended.reason, ended.text) == ("cancelled", "abcdef"[: max(0, steps - 3)])
    assert len(model.forwards) == steps - 1


def test_cancelling_shows_what_was_held_back() -> None:
    pieces, ended = run(seat_at(FakeModel(b"a\nbc")), raw("Hi", stop_words=("\nx",)), steps=3)
    assert (pieces, ended.text) == (["a", "\n"], "a\n")


def test_the_chat_formats_own_stop_word_is_a_plain_stop() -> None:
    script = b"Yes." + TURN_END.encode()
    _, ended = run(seat_at(FakeModel(script)), chat("Is it?"))
    assert (ended.text, ended.reason) == ("Yes.", "stop")
    _, ended = run(seat_at(FakeModel(script)), raw("Is it?", max_tokens=len(script)))
    assert (ended.text, ended.reason) == (script.decode(), "length"), "raw text has no turns"


def test_a_chat_answer_starts_without_white_space() -> None:
    script = says(" \n Yes, it is.")
    assert run(seat_at(FakeModel(script)), chat("Is it?"))[1].text == "Yes, it is."
    assert run(seat_at(FakeModel(script)), raw("Is it?"))[1].text == " \n Yes, it is."


def test_a_known_beginning_is_not_computed_again() -> None:
    model = FakeModel(says("Hello.", "Fine."), chunk_size=64)
    seat = seat_at(model)
    run(seat, chat("Hi"))
    first = len(model.kv())
    model.forwards.clear()
    _, ended = run(seat, chat("Hi", "Hello.", "How are you?"))
    position, length = model.forwards[0]
    assert position == first, "goes on where the answer ended"
    assert ended.stats.cached_tokens == position
    assert ended.stats.prompt_tokens == position + length


@pytest.mark.parametrize(
    ("second", "cached"),
    [
        pytest.param("abcdef", 6, id="the same: all but its last token, as logits are needed"),
        pytest.param("abcdefgh", 7, id="longer"),
        pytest.param("abc", 3, id="shorter: its last token runs again"),
        pytest.param("abcxyz", 4, id="parts on the way"),
        pytest.param("xyz", 1, id="only BOS"),
    ],
)
def test_reuse_gives_what_a_fresh_run_gives(second: str, cached: int) -> None:
    used = seat_at(FakeModel())
    run(used, raw("abcdef", HOT, max_tokens=5))
    _, reused = run(used, raw(second, HOT, max_tokens=12))
    _, fresh = run(seat_at(FakeModel()), raw(second, HOT, max_tokens=12))
    assert reused.text == fresh.text
    assert (reused.stats.cached_tokens, fresh.stats.cached_tokens) == (cached, 0)


@pytest.mark.parametrize("ahead", [2, 5, 16])
@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "drawn"])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"max_tokens": 1}, id="one token"),
        pytest.param({"max_tokens": 7}, id="an end between two goes"),
        pytest.param({"max_tokens": 0}, id="until the context is full"),
        pytest.param({"max_tokens": 20, "stop_words": ("\x00",)}, id="stop words"),
    ],
)
def test_tokens_made_ahead_change_nothing(
    ahead: int, sampling: SamplingParams, options: dict[str, Any]
) -> None:
    plain, quick = seat_at(FakeModel()), seat_at(FakeModel(ahead=ahead))
    for prompt in ("abcdef", "abcdxy", "abcdefgh"):
        _, expected = run(plain, raw(prompt, sampling, **options))
        _, found = run(quick, raw(prompt, sampling, **options))
        assert (found.text, found.reason) == (expected.text, expected.reason)
        assert found.stats.generated_tokens == expected.stats.generated_tokens


@pytest.mark.parametrize("steps", range(1, 7))
def test_cancelled_while_tokens_are_made_ahead(steps: int) -> None:
    seat = seat_at(FakeModel(ahead=4))
    assert run(seat, raw("abcdef", max_tokens=20), steps)[1].reason == "cancelled"
    _, again = run(seat, raw("abcdef", max_tokens=20))
    assert again.text == run(seat_at(FakeModel()), raw("abcdef", max_tokens=20))[1].text


@pytest.mark.parametrize(
    ("sampling", "runs"),
    [
        pytest.param(GREEDY, [1, 4], id="greedy"),
        pytest.param(WARM, [1, 4], id="drawn"),
        pytest.param(HOT, [1, 1, 1, 1, 1, 1], id="drawn from all"),
        pytest.param(SamplingParams(seed=3, repeat_penalty=1.1), [1] * 6, id="penalised"),
    ],
)
def test_what_is_made_ahead(sampling: SamplingParams, runs: list[int]) -> None:
    model = FakeModel(ahead=4)
    counts, before = [], 0
    answering = steps_of(seat_at(model), raw("abcdef", sampling, max_tokens=9), lambda event: None)
    for _ in answering:
        counts.append(len(model.forwards) - before)
        before = len(model.forwards)
    assert counts[1:7] == runs


def test_nothing_is_computed_after_the_end() -> None:
    model = FakeModel(says("abc"), ahead=16)
    _, ended = run(seat_at(model), raw("Hi"))
    assert (ended.text, ended.reason) == ("abc", "stop")
    assert model.kv() == [256, *b"Hiabc"]


def test_an_answer_goes_on_as_if_it_had_not_been_cut() -> None:
    _, whole = run(seat_at(FakeModel()), raw("abc", HOT, max_tokens=20))
    seat = seat_at(FakeModel(ahead=4))
    _, first = run(seat, raw("abc", HOT, max_tokens=9))
    _, rest = run(seat, raw("abc" + first.text, HOT, max_tokens=11))
    assert first.text + rest.text == whole.text


def test_forgetting_computes_all_of_the_prompt() -> None:
    seat = seat_at(FakeModel())
    run(seat, raw("abcdef", max_tokens=2))
    seat.forget()
    assert run(seat, raw("abcdef", max_tokens=2))[1].stats.cached_tokens == 0


def test_a_cancelled_prompt_leaves_a_sound_kv() -> None:
    seat = seat_at(FakeModel(chunk_size=4))
    run(seat, raw("abcdefghijkl", HOT), steps=3)
    _, ended = run(seat, raw("abcdefghijkl", HOT, max_tokens=8))
    _, fresh = run(seat_at(FakeModel()), raw("abcdefghijkl", HOT, max_tokens=8))
    assert (ended.text, ended.stats.cached_tokens) == (fresh.text, 8)


@pytest.mark.parametrize("number", [0, 1, 3], ids=["first chunk", "second chunk", "decode"])
@pytest.mark.parametrize("fault", [DeviceError("lost"), ZeroDivisionError("ours")])
def test_after_a_failed_forward_nothing_is_reused(number: int, fault: Exception) -> None:
    def fail(count: int) -> None:
        nonlocal faults
        if count == number and faults:
            faults -= 1
            raise fault

    faults = 1
    seat = seat_at(FakeModel(chunk_size=4, before_forward=fail))
    _, ended = run(seat, raw("abcdefg", HOT, max_tokens=5))
    assert ended.reason == "error"
    assert str(fault) in ended.error
    assert ("Traceback" in ended.details) == isinstance(fault, ZeroDivisionError)
    _, again = run(seat, raw("abcdefg", HOT, max_tokens=5))
    assert (again.reason, again.stats.cached_tokens) == ("length", 0)


@pytest.mark.parametrize("choice", [0, 2])
def test_nan_ends_with_an_error_and_is_not_built_upon(choice: int) -> None:
    seat = seat_at(FakeModel(b"abcdef", nan_at=choice))
    _, ended = run(seat, raw("Hi"))
    assert (ended.reason, ended.error, ended.text) == ("error", "logits are NaN", "ab"[:choice])
    assert run(seat, raw("Hi", max_tokens=1))[1].stats.cached_tokens == 0


def test_penalties_look_back_into_the_prompt() -> None:
    model = FakeModel()
    sampling = SamplingParams(temperature=0.0, repeat_penalty=1.1)
    run(seat_at(model), raw("aab", sampling, max_tokens=1))
    [(_, penalties)] = model.asked_for
    assert penalties is not None
    assert penalties.counts == {256: 1, ord("a"): 2, ord("b"): 1}


def test_counts_and_times() -> None:
    _, ended = run(seat_at(FakeModel(says("abc"))), raw("Hello"))
    stats = ended.stats
    assert (stats.prompt_tokens, stats.generated_tokens, stats.context_used) == (6, 3, 9)
    assert stats.prompt_s > 0
    assert stats.decode_s > 0
    assert stats.prompt_tps == pytest.approx(6 / stats.prompt_s)
    assert stats.decode_tps == pytest.approx(2 / stats.decode_s)
