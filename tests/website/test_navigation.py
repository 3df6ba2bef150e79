"""Patterns in the navigation."""

from website.hooks import expanded

PATHS = ["decisions/0001-a.md", "decisions/0002-b.md", "reference/index.md", "reference/llm.md"]


def test_a_pattern_is_all_of_its_pages_that_are_not_there_yet() -> None:
    navigation = [
        {"Home": "index.md"},
        {"Nodes": ["reference/llm.md", "reference/*.md"]},
        {"More": ["none.md", {"Decisions": ["decisions/*.md"]}]},
    ]
    assert expanded(navigation, PATHS) == [
        {"Home": "index.md"},
        {"Nodes": ["reference/llm.md", "reference/index.md"]},
        {"More": [{"Decisions": ["decisions/0001-a.md", "decisions/0002-b.md"]}]},
    ]
