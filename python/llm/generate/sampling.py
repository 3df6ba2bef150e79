"""Chooses the tokens of one request: adjusts logits by what was said and may be said, then draws.

The model finds the largest logits, where the logits are; llm.gpu.sampler defines the plain draw,
which a device can repeat for several tokens at once as long as nothing looks back at them.
"""

import secrets
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llm.errors import RequestError
from llm.generate.events import Likely
from llm.generate.filters import (
    GREEDY,
    TEMPERATURE,
    Cut,
    cuts,
    draw,
    draw_mirostat,
    mirostat_cuts,
    softmax,
)
from llm.generate.logit_bias import token_biases
from llm.generate.repetition import RepeatedRuns, SeenTokens
from llm.generate.request import RANDOM_SEED, SamplingParams
from llm.generate.xray import Candidate, Choice, Stage, shown_text
from llm.gpu.adjustments import FORBIDDEN, Adjustments
from llm.gpu.program import Candidates, Floats
from llm.gpu.sampler import Draw, Sampler, choose_rows
from llm.gpu.sampler import cuts as plain_cuts

if TYPE_CHECKING:
    from llm.generate.model import Model
    from llm.generate.tracing import Trace
    from llm.text.grammar import Matcher
    from llm.text.tokenizer import Tokenizer

FIRST_AHEAD, MOST_AHEAD = 4, 64
FORMAT = "format"


class Chooser:
    """What one request draws with, and what it has drawn lately."""

    def __init__(
        self,
        params: SamplingParams,
        tokenizer: "Tokenizer",
        seen: Sequence[int] = (),
        matcher: "Matcher | None" = None,
        n_probs: int = 0,
        *,
        is_traced: bool = False,
    ) -> None:
        """`matcher` says which tokens may come. Of each choice the `n_probs` likeliest are kept,
        and where it `is_traced` how it came about.

        Raises RequestError on too many biases.
        """
        self._params = params
        seed = secrets.randbits(64) if params.seed == RANDOM_SEED else params.seed
        self.sampler = Sampler(params.temperature, params.top_k, params.top_p, params.min_p, seed)
        self.tokenizer = tokenizer
        self._biases = token_biases(params, tokenizer)
        self._seen = SeenTokens(params.penalty_window, seen)
        self._runs = RepeatedRuns(params, tokenizer, seen) if params.dry_multiplier > 0.0 else None
        self._surprise = 2.0 * params.mirostat_tau
        self._n_probs = n_probs
        self.is_traced = is_traced
        self.matcher = matcher
        self.is_free = False  # while the model thinks, anything may come
        self.openers: frozenset[int] = frozenset()  # tokens that may begin that, and nothing else
        self.ahead = FIRST_AHEAD  # tokens to make before a format is asked
        self.likely: deque[tuple[Likely, ...]] = deque()  # of each token chosen, where asked for
        self.choices: deque[Choice] = deque()  # of each token chosen, where traced

    @property
    def looks_back(self) -> bool:
        """Whether there is more to a choice than the logits and the plain draw."""
        params = self._params
        return (
            params.penalizes
            or not params.is_plain
            or bool(self._biases)
            or self._runs is not None
            or self.matcher is not None
            or self._needs_all
        )

    @property
    def _needs_all(self) -> bool:
        """Whether more is to be told of a choice than the token."""
        return self._n_probs > 0 or self.is_traced

    @property
    def candidates(self) -> int:
        """How many of the largest logits it needs; 0: all."""
        params = self._params
        if self._needs_all:
            return 0
        if params.temperature > 0.0 and (params.top_n_sigma > 0.0 or params.mirostat):
            return 0
        return self.sampler.candidates

    @property
    def is_plain(self) -> bool:
        """Whether llm.gpu.sampler draws, if there is anything to draw."""
        return self._params.is_plain or self._params.temperature == 0.0

    @property
    def looks_at_format_only(self) -> bool:
        """Whether tokens may be made ahead, as it is only asked afterwards if they may come."""
        if self.matcher is None or self.is_free or self.openers or not self.fits_device:
            return False
        return not (self._params.penalizes or self._biases or self._runs is not None)

    @property
    def is_complete(self) -> bool:
        """Whether the answer has all that its format wants, and nothing may follow."""
        return self.matcher is not None and not self.is_free and self.matcher.is_complete

    def note_ahead(self, taken: int, made: int) -> None:
        """So many of the tokens made ahead could be taken: as many more may be next time."""
        self.ahead = min(2 * made, MOST_AHEAD) if taken >= made else max(2, taken + 1)

    def take_allowed(self, tokens: Sequence[int], most: int) -> tuple[list[int], bool]:
        """Those of tokens made ahead that may come, which count as chosen, up to where others are
        forced; and whether these follow them, as chosen too. All are `most`, at most."""
        taken: list[int] = []
        for token in tokens:
            forced = self.forced(most - len(taken))
            if forced:
                return taken + forced, True
            if not self.allows(token):
                return taken, False
            self.note(token)
            taken.append(token)
        return taken, False

    @property
    def fits_device(self) -> bool:
        """Whether the model can draw, where the logits are."""
        return self._params.is_plain and self.sampler.fits_device and not self._needs_all

    def choose(self, model: "Model", position: int) -> int:
        """The token for `position`, from the model's only output row.

        Raises NumericError, and RequestError where no token may come.
        """
        return choose_tokens([self], model, [position])[0]

    def draw_for(self, position: int) -> Draw:
        """What a device has to know."""
        return Draw(self.sampler, position, self.adjustments())

    def note(self, token: int) -> None:
        """It was chosen."""
        self._seen.note(token)
        if self._runs is not None:
            self._runs.note(token)
        if token in self.openers:
            self.is_free = True
        elif self.matcher is not None and not self.is_free:
            self.matcher.accept(token)
        self.openers = frozenset()

    def forced(self, most: int) -> list[int]:
        """Tokens that follow the chosen one, as nothing else may; they count as chosen."""
        if self.matcher is None or self.is_free or self.openers:
            return []
        found = self.matcher.forced()[: max(most, 0)]
        for token in found:
            self.note(token)
            if self._n_probs > 0:
                self.likely.append((self._told(token, 1.0),))
            if self.is_traced:
                only = Candidate(token, shown_text(self.tokenizer, token), (1.0,))
                self.choices.append(Choice(token, (Stage(FORMAT, 1, 0.0),), (only,)))
        return found

    def note_likely(self, best: Candidates, token: int) -> None:
        """Keeps what n_probs asks for of the candidates, which are all, where the token came."""
        if self._n_probs > 0:
            best = _allowed(self, best)
            probable = softmax(best.logits.astype(np.float64))  # (V,)
            places = [int(np.argmax(best.ids == token)), *range(min(self._n_probs, best.ids.size))]
            told = [self._told(int(best.ids[at]), float(probable[at])) for at in places]
            self.likely.append(tuple(told))

    def _told(self, token: int, probability: float) -> Likely:
        return Likely(token, shown_text(self.tokenizer, token), probability)

    def adjustments(self) -> Adjustments | None:
        """What is done to the logits before the next choice; None: nothing."""
        params = self._params
        if not self.looks_back:
            return None
        biases = self._biases
        if self._runs is not None:
            biases = {**biases}
            for token, bias in self._runs.biases().items():
                biases[token] = biases.get(token, 0.0) + bias
        found = Adjustments(
            counts=self._seen.counts() if params.penalizes else {},
            repeat=params.repeat_penalty,
            presence=params.presence_penalty,
            frequency=params.frequency_penalty,
            biases=biases,
            mask=None if self.fits_device else self.mask(),
        )
        return None if found.changes_nothing else found

    def adjusting(self) -> list[tuple[str, Adjustments]]:
        """What adjustments() does with the format, one sampler after the other."""
        params = self._params
        counts = self._seen.counts() if params.penalizes else {}
        penalties = params.repeat_penalty, params.presence_penalty, params.frequency_penalty
        runs = {} if self._runs is None else self._runs.biases()
        found = {
            "penalties": Adjustments(counts, *penalties),
            "dry": Adjustments(biases=runs),
            "logit_bias": Adjustments(biases=self._biases),
            FORMAT: Adjustments(mask=self.mask()),
        }
        return [(name, each) for name, each in found.items() if not each.changes_nothing]

    def cuts(self, logits: Floats, position: int) -> list[Cut]:
        """What the samplers leave of logits (k,), best first, all of which may come."""
        params, sampler = self._params, self.sampler
        if params.temperature == 0.0:
            return [Cut(GREEDY, np.arange(1))]
        if params.mirostat:
            return mirostat_cuts(logits.astype(np.float64), params, self._surprise)
        if not self.is_plain:
            return list(cuts(logits.astype(np.float64), params, sampler.seed, position))
        found = [Cut(name, np.arange(left)) for name, left in plain_cuts(sampler, logits)]
        left = found[-1].left if found else np.arange(logits.size)
        return [*found, Cut(TEMPERATURE, left, params.temperature)]

    def allows(self, token: int) -> bool:
        """Whether the answer's format lets it come next."""
        if self.matcher is None or self.is_free or token in self.openers:
            return True
        return self.matcher.allows(token)

    def mask(self) -> NDArray[np.uint32] | None:
        """What the answer's format lets come next: see Adjustments."""
        if self.matcher is None or self.is_free:
            return None
        words = self.matcher.mask()
        for token in self.openers:
            words[token // 32] |= np.uint32(1 << token % 32)
        return words

    def draw(self, found: Candidates, position: int) -> int:
        """The index among the candidates, where the draw is not plain."""
        logits = found.logits.astype(np.float64)  # (k,)
        if not self._params.mirostat:
            return draw(logits, self._params, self.sampler.seed, position)
        index, self._surprise = draw_mirostat(
            logits, self._params, self._surprise, self.sampler.seed, position
        )
        return index


def choose_tokens(
    choosers: Sequence[Chooser], model: "Model", positions: Sequence[int]
) -> list[int]:
    """A token of each, from as many of the model's first output rows.

    Where a device draws, a format is asked whether it lets the token come, which is quicker than
    what may come; only where not, a token is drawn again from those that it lets.

    Raises NumericError, and RequestError where no token may come.
    """
    counts = [chooser.candidates for chooser in choosers]
    if all(chooser.fits_device for chooser in choosers):
        draws = [each.draw_for(place) for each, place in zip(choosers, positions, strict=True)]
        tokens = _drawn(model, draws)
        masks = _masks(choosers, tokens)
        if masks:
            again = [replace(draw, adjustments=masks.get(row)) for row, draw in enumerate(draws)]
            tokens = _drawn(model, again)
    else:
        adjustments = [chooser.adjustments() for chooser in choosers]
        traces: dict[int, Trace] = {}
        if all(counts):
            best = model.candidates_of_rows(max(counts), adjustments)
        else:  # some ask for all logits
            traces = _traces(choosers, model, positions)
            best = [
                traces[row].best
                if row in traces and change is None
                else model.candidates(counts[row], change, row)
                for row, change in enumerate(adjustments)
            ]
        tokens = draw_rows(choosers, best, positions)
        for row, mask in _masks(choosers, tokens).items():
            best[row] = model.candidates(counts[row], mask, row)
            tokens[row] = draw_rows([choosers[row]], [best[row]], [positions[row]])[0]
        for chooser, found, token in zip(choosers, best, tokens, strict=True):
            chooser.note_likely(found, token)
        for row, trace in traces.items():
            choosers[row].choices.append(trace.choice(tokens[row]))
    for chooser, token in zip(choosers, tokens, strict=True):
        chooser.note(token)
    return tokens


def _traces(
    choosers: Sequence[Chooser], model: "Model", positions: Sequence[int]
) -> "dict[int, Trace]":
    """Of the rows that are traced, from the logits before anything is done to them."""
    rows = [row for row, chooser in enumerate(choosers) if chooser.is_traced]
    if not rows:
        return {}
    from llm.generate.tracing import Trace

    return {
        row: Trace(choosers[row], model.candidates(0, None, row), positions[row]) for row in rows
    }


def _drawn(model: "Model", draws: Sequence[Draw]) -> list[int]:
    tokens = [token for token in model.draw(draws) if token is not None]
    if len(tokens) < len(draws):
        raise _nothing_allowed()
    return tokens


def _masks(choosers: Sequence[Chooser], tokens: Sequence[int]) -> dict[int, Adjustments]:
    """Of the rows whose token may not come."""
    return {
        row: Adjustments(mask=chooser.mask())
        for row, (chooser, token) in enumerate(zip(choosers, tokens, strict=True))
        if not chooser.allows(token)
    }


def _nothing_allowed() -> RequestError:
    return RequestError("no token may come next: logit_bias or the answer's format forbids all")


def draw_rows(
    choosers: Sequence[Chooser], best: Sequence[Candidates], positions: Sequence[int]
) -> list[int]:
    """The token of each for its position, from the candidates that it asks for, or more.

    Those that ask for as many are drawn in one go. Raises RequestError where none may come.
    """
    found = [_allowed(chooser, row) for chooser, row in zip(choosers, best, strict=True)]
    indices = [0] * len(choosers)
    alike: dict[int, list[int]] = {}
    for row, chooser in enumerate(choosers):
        if not chooser.is_plain:
            indices[row] = chooser.draw(found[row], positions[row])
        elif chooser.sampler.temperature > 0.0:
            size = found[row].ids.size
            alike.setdefault(min(chooser.sampler.candidates or size, size), []).append(row)
    for count, rows in alike.items():
        logits = np.stack([found[row].logits[:count] for row in rows])  # (n, k)
        samplers = [choosers[row].sampler for row in rows]
        chosen = choose_rows(samplers, logits, [positions[row] for row in rows])
        for row, index in zip(rows, chosen, strict=True):
            indices[row] = index
    return [int(each.ids[index]) for each, index in zip(found, indices, strict=True)]


def _allowed(chooser: Chooser, best: Candidates) -> Candidates:
    """The candidates that it asks for, without those that may not come."""
    count = min(chooser.candidates or best.ids.size, best.ids.size)
    if chooser.looks_back:  # they stand best first
        count = min(count, int(np.count_nonzero(best.logits > FORBIDDEN)))
    if count == 0:
        raise _nothing_allowed()
    return Candidates(best.ids[:count], best.logits[:count])
