"""The next tokens of answers, those of one model together: a run costs little more for several."""

import time
import traceback
from collections.abc import Sequence

from llm.errors import LLMError
from llm.generate.answer import Wanted
from llm.generate.model import Model, Row
from llm.generate.sampling import take_rows
from llm.gpu.program import ROWS_APART

Found = list[int] | Exception  # tokens, or why there are none


def decode(wants: Sequence[Wanted], at_work: int) -> list[Found]:
    """At least one token for each of some answers, all of one model; so many are at work there.

    Several at a time where answers take turns: one alone, or where that is quicker.
    """
    model = wants[0].sequence.model
    if at_work == 1 or model.pace.prefers_turns(at_work):
        most = max(1, model.ahead // at_work)
        return [_timed(want, most) for want in wants]
    if len(wants) == 1:
        return [_found_alone(wants[0], 1)]
    size = min(ROWS_APART, model.chunk_size)
    found: list[Found] = []
    for start in range(0, len(wants), size):
        found += _found_together(model, wants[start : start + size])
    return found


def _found_together(model: Model, wants: Sequence[Wanted]) -> list[Found]:
    """One token each. What fails together is tried alone: a fault ends only its own answer."""
    found: dict[int, Found] = {}
    started = time.perf_counter()
    try:
        for want in wants:
            want.sequence.reserve(1)
        model.forward_rows(
            [Row(want.sequence.number, want.token, len(want.sequence)) for want in wants]
        )
        counts = [want.chooser.sampler.candidates for want in wants]
        places = [len(want.sequence) + 1 for want in wants]
        if all(counts):
            best = model.candidates_of_rows(max(counts), [w.chooser.penalties for w in wants])
            tokens = take_rows([want.chooser for want in wants], best, places)
        else:  # some ask for all logits
            tokens = [w.chooser.choose(model, places[row], row) for row, w in enumerate(wants)]
        for row, want in enumerate(wants):
            want.sequence.ids.append(want.token)
            found[row] = [tokens[row]]
        model.pace.note_run(len(wants), time.perf_counter() - started)
    except LLMError:
        pass  # the rows that are missing are tried alone
    except Exception:
        traceback.print_exc()  # our own fault; they are tried all the same
    return [found[row] if row in found else _found_alone(want, 1) for row, want in enumerate(wants)]


def _timed(want: Wanted, most: int) -> Found:
    started = time.perf_counter()
    found = _found_alone(want, most)
    if not isinstance(found, Exception):
        want.sequence.model.pace.note_token((time.perf_counter() - started) / len(found))
    return found


def _found_alone(want: Wanted, most: int) -> Found:
    try:
        return _alone(want, most)
    except Exception as problem:
        return problem


def _alone(want: Wanted, most: int) -> list[int]:
    sequence, chooser = want.sequence, want.chooser
    model = sequence.model
    if chooser.looks_back:
        sequence.forward([want.token], want_logits=True)
        return [chooser.choose(model, len(sequence))]
    count = min(most, want.most) if chooser.sampler.fits_device else 1
    return sequence.decode(want.token, count, chooser.sampler, model.tokenizer.end_ids)
