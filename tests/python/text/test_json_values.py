"""What the engine can hold of JSON."""

import math

from llm.text.json_values import held


def test_whole_numbers_within_64_bits_stay() -> None:
    value = {"a": [2**63 - 1, -(2**63), True, None, "9" * 30, 1.5], "b": {"c": 0}}
    assert repr(held(value)) == repr(value)


def test_others_become_floats() -> None:
    assert held([2**63, {"a": -(2**63) - 1}]) == [float(2**63), {"a": -float(2**63)}]
    assert held([10**400, -(10**400)]) == [math.inf, -math.inf]
