"""The next tokens of answers, those of one model together: a run costs little more for several."""

import time
import traceback
from collections.abc import Sequence
from dataclasses import replace

from llm.errors import LLMError
from llm.generate.answer import Wanted
from llm.generate.model import Model, Row
from llm.generate.sampling import choose_tokens
from llm.generate.sequence import CachedSequence, common
from llm.gpu.adapters import Gains
from llm.gpu.program import ROWS_APART, until_stop

Found = list[int] | Exception  # tokens, or why there are none


def decode(wants: Sequence[Wanted], at_work: int) -> list[Found]:
    """At least one token for each of some answers, all of one model; so many are at work there.

    Several at a time where answers take turns: one alone, or where that is quicker.
    """
    model = wants[0].sequence.model
    if at_work == 1 or model.pace.prefers_turns(at_work):
        most = max(1, model.pace.tokens(model.ahead) // at_work)
        return [_timed(want, most) for want in wants]
    if len(wants) == 1:
        return [_found_alone(wants[0], 1)]
    size = min(ROWS_APART, model.chunk_size)
    found: dict[int, Found] = {}  # by place
    for places in _alike(wants):
        for start in range(0, len(places), size):
            some = places[start : start + size]
            together = _found_together(model, [wants[place] for place in some])
            found |= zip(some, together, strict=True)
    return [found[place] for place in range(len(wants))]


def _alike(wants: Sequence[Wanted]) -> list[list[int]]:
    """The places of those with the same adapters, which can run together."""
    places: dict[Gains, list[int]] = {}
    for place, want in enumerate(wants):
        places.setdefault(want.sequence.adapters.gains, []).append(place)
    return list(places.values())


def _found_together(model: Model, wants: Sequence[Wanted]) -> list[Found]:
    """What fails together is tried alone: a fault ends only its own answer."""
    found: dict[int, Found] = {}
    rows: dict[int, Wanted] = {}  # with one token each to run
    runs = _runs(model, wants)
    for row, want in enumerate(wants):
        try:
            _run(want.sequence, want.tokens[:-1], want_logits=False)
            want.sequence.begin(runs, is_ahead=runs > 1)
            rows[row] = replace(want, tokens=want.tokens[-1:])
        except Exception as problem:
            found[row] = problem
    try:
        if rows:
            found |= zip(rows, _run_rows(model, list(rows.values()), runs), strict=True)
    except LLMError:
        pass  # the rows that are missing are tried alone
    except Exception:
        traceback.print_exc()  # our own fault; they are tried all the same
    return [found[row] if row in found else _found_alone(rows[row], 1) for row in range(len(wants))]


def _runs(model: Model, wants: Sequence[Wanted]) -> int:
    """How many runs to make at once: more than one where nothing looks back at their tokens."""
    choosers = [want.chooser for want in wants]
    if any(chooser.looks_back or not chooser.fits_device for chooser in choosers):
        return 1
    most = min(model.runs_ahead, *(want.most for want in wants))
    return model.pace.runs(len(wants), most)


def _run_rows(model: Model, wants: Sequence[Wanted], runs: int) -> list[Found]:
    """So many runs, of a token each."""
    started = time.perf_counter()
    rows = [Row(want.sequence.number, want.tokens[0], len(want.sequence)) for want in wants]
    places = [len(want.sequence) + 1 for want in wants]
    choosers = [want.chooser for want in wants]
    found: list[list[int]]
    if runs > 1:
        draws = [each.draw_for(place) for each, place in zip(choosers, places, strict=True)]
        ends = model.tokenizer.end_ids
        found = [until_stop(each, ends) for each in model.decode_rows(rows, draws, runs)]
    else:
        model.forward_rows(rows)
        found = [[token] for token in choose_tokens(choosers, model, places)]
    for want, tokens in zip(wants, found, strict=True):
        want.sequence.end([*want.tokens, *tokens[:-1]], unwanted=runs - len(tokens))
    model.pace.note_run(len(wants), (time.perf_counter() - started) / runs, runs)
    return [
        [*tokens, *want.chooser.forced(want.most - len(tokens))]
        for tokens, want in zip(found, wants, strict=True)
    ]


def _timed(want: Wanted, most: int) -> Found:
    started = time.perf_counter()
    found = _found_alone(want, most)
    if not isinstance(found, Exception):
        seconds = (time.perf_counter() - started) / len(found)
        want.sequence.model.pace.note_token(seconds, len(found))
    return found


def _found_alone(want: Wanted, most: int) -> Found:
    try:
        return _alone(want, most)
    except Exception as problem:
        return problem


def _alone(want: Wanted, most: int) -> list[int]:
    sequence, chooser = want.sequence, want.chooser
    model = sequence.model
    most = min(most, want.most)
    # tokens that were forced run in one chunk, with the logits that follow them
    if chooser.looks_at_format_only and most > 1 and len(want.tokens) == 1:
        return _made_ahead(want, min(most, chooser.ahead))
    if chooser.looks_back:
        _run(sequence, want.tokens, want_logits=True)
        token = chooser.choose(model, len(sequence))
        return [token, *chooser.forced(want.most - 1)]
    count = most if chooser.sampler.fits_device else 1
    [token] = want.tokens
    return sequence.decode(token, count, chooser.sampler, model.tokenizer.end_ids)


def _made_ahead(want: Wanted, count: int) -> list[int]:
    """As many of tokens made without the format as it lets come, and one that it lets."""
    sequence, chooser = want.sequence, want.chooser
    model = sequence.model
    [before] = want.tokens
    held = len(sequence)
    found = sequence.decode(before, count, chooser.sampler, model.tokenizer.end_ids)
    taken, are_forced = chooser.take_allowed(found, want.most)
    same = common(taken, found)
    chooser.note_ahead(same, count)
    if len(taken) == len(found) and not are_forced:
        return [*taken, *chooser.forced(want.most - len(taken))]
    sequence.keep(held + same)
    if are_forced or (taken and chooser.is_complete):
        return taken
    sequence.forward([found[same - 1] if same else before], want_logits=True)
    token = chooser.choose(model, len(sequence))
    return [*taken, token, *chooser.forced(want.most - len(taken) - 1)]


def _run(sequence: CachedSequence, tokens: Sequence[int], *, want_logits: bool) -> None:
    """In chunks that the model takes; logits are those of the last."""
    size = sequence.model.chunk_size
    for start in range(0, len(tokens), size):
        is_last = start + size >= len(tokens)
        sequence.forward(tokens[start : start + size], want_logits=want_logits and is_last)
