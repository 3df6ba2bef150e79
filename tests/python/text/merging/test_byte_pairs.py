"""Merges by rank: which come first, what falls back, and how long the longest words take."""

import random
import time
from itertools import pairwise

import pytest
from support.trained_vocabulary import ranked_vocabulary

from llm.text.merging.alphabets import VISIBLE
from llm.text.merging.byte_pairs import BytePairs, merged
from llm.text.merging.pre_tokenizers import LINES, PRE_TOKENIZERS

PLAIN = PRE_TOKENIZERS["gpt-2"]


def slowly(symbols, ranks):
    """The definition: the best pair of all, the leftmost first, until none is left."""
    while True:
        pairs = [
            (rank, place)
            for place, (left, right) in enumerate(pairwise(symbols))
            if (rank := ranks.get(left + b" " + right)) is not None
        ]
        if not pairs:
            return symbols
        _, place = min(pairs)
        symbols = [*symbols[:place], symbols[place] + symbols[place + 1], *symbols[place + 2 :]]


def test_merging_follows_the_definition():
    chance = random.Random(5)
    for _ in range(300):
        pieces = [b"a", b"b", b"c"]
        merges = []
        for _ in range(chance.randrange(1, 14)):
            left, right = chance.choice(pieces), chance.choice(pieces)
            merges.append(left + b" " + right)
            pieces.append(left + right)
        chance.shuffle(merges)
        ranks = {merge: rank for rank, merge in enumerate(merges)}
        symbols = [chance.choice([b"a", b"b", b"c"]) for _ in range(chance.randrange(30))]
        assert merged(symbols, ranks) == slowly(symbols, ranks)


def made(merges, *, controls=(), pre=PLAIN, more=(), symbols=VISIBLE):
    tokens, _ = ranked_vocabulary(symbols, [*merges])
    tokens = [text.encode() for text in [*tokens, *more]]
    hidden = [tokens.index(text.encode()) for text in controls]
    return tokens, BytePairs(tokens, hidden, [merge.encode() for merge in merges], pre)


def spelled(tokens, merging, text):
    return [tokens[id].decode() for id in merging.encode(text, begins=True)]


def test_the_first_of_equal_merges_counts():
    tokens, merging = made(["a b", "b c", "a b"])
    assert spelled(tokens, merging, "abc") == ["ab", "c"]


def test_what_merges_make_that_is_no_token_falls_apart():
    tokens, _ = made(["a b"])
    place = tokens.index(b"ab")
    tokens[place] = b"else"
    merging = BytePairs(tokens, [], [b"a b"], PLAIN)
    assert spelled(tokens, merging, "ab") == ["a", "b"]


def test_plain_characters_never_merge_into_a_control_token():
    # llama.cpp takes what the merges make, and typed text ends the answer.
    merges = ["e n", "en d"]
    tokens, merging = made(merges, controls=["end"])
    assert spelled(tokens, merging, "end") == ["e", "n", "d"]
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens, merging = made(merges, controls=["end"], pre=LINES, symbols=["e", "n", "d", *bytes_])
    assert spelled(tokens, merging, "end") == [f"<0x{byte:02X}>" for byte in b"end"]


def test_a_whole_word_that_is_a_control_token_is_merged_all_the_same():
    tokens, merging = made([], controls=["end"], more=["end"], pre=PRE_TOKENIZERS["llama3"])
    assert spelled(tokens, merging, "end") == ["e", "n", "d"]
    tokens, merging = made([], more=["end"], pre=PRE_TOKENIZERS["llama3"])
    assert spelled(tokens, merging, "end") == ["end"]


def test_bytes_that_the_vocabulary_lacks_are_left_out():
    tokens, merging = made([], symbols=[symbol for symbol in VISIBLE if symbol != "x"])
    assert spelled(tokens, merging, "axb") == ["a", "b"]


def test_every_byte_has_a_symbol_of_its_own_and_comes_back():
    _, merging = made([])
    assert len(set(VISIBLE)) == 256
    for byte in range(256):
        symbol = VISIBLE[byte].encode()
        assert merging.piece(symbol, is_added=False) == bytes([byte])
    assert VISIBLE[ord(" ")] == "Ġ"
    assert VISIBLE[ord("\n")] == "Ċ"


def test_added_tokens_are_spelled_as_text_is():
    _, merging = made([])
    assert merging.piece("Ġ".encode(), is_added=True) == "Ġ".encode()
    assert merging.piece("漢 \u2581".encode(), is_added=False) == "漢 \u2581".encode()


def test_words_are_remembered_but_not_without_end(monkeypatch):
    monkeypatch.setattr("llm.text.merging.byte_pairs._REMEMBERED", 10)
    _, merging = made(["1 2"], pre=PRE_TOKENIZERS["gpt-2"])
    text = " ".join(f"x{'12' * number}" for number in range(100))
    first = merging.encode(text, begins=True)
    assert len(merging._remembered) <= 10
    assert merging.encode(text, begins=True) == first


@pytest.mark.parametrize("letter", ["a", "語", "1"])
def test_the_longest_words_take_little_time(letter):
    symbols = [VISIBLE[byte] for byte in letter.encode()]
    merges = [" ".join(["".join(symbols[:end]), symbols[end]]) for end in range(1, len(symbols))]
    whole = "".join(symbols)
    merges += [f"{whole * 2**power} {whole * 2**power}" for power in range(4)]
    tokens, merging = made(merges)
    begin = time.perf_counter()
    ids = merging.encode(letter * 50_000, begins=True)
    # In quadratic time it would take minutes.
    assert time.perf_counter() - begin < 5
    assert len(ids) == 50_000 // 16
    assert tokens[ids[0]].decode() == whole * 16
