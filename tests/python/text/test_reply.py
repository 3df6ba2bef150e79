"""Answer, reasoning and calls come apart, however the text was cut."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.text.reply import ANSWER, REASONING, ReplyParser
from llm.text.reply_style import ReplyStyle

HERMES = ReplyStyle.of_template("{{ tools }} <tool_call> </tool_call> <think>")
GEMMA_4 = ReplyStyle.of_template('tools <|channel> <channel|> <|tool_call> <tool_call|> <|"|>')
HARMONY = ReplyStyle.of_template("tools <|channel|> <|message|>")
LLAMA = ReplyStyle.of_template('tools <|python_tag|> {"name": function name, "parameters": {}}')
MISTRAL = ReplyStyle.of_template("tools [TOOL_CALLS] [ARGS] [THINK] [/THINK]")
PHI = ReplyStyle.of_template("tools <|tool_call|> <|/tool_call|>")
LFM = ReplyStyle.of_template("tools <|tool_call_start|> <|tool_call_end|>")
DEEPSEEK = ReplyStyle.of_template(
    "tools <｜tool▁calls▁begin｜><｜tool▁call▁begin｜><｜tool▁sep｜> </think>"  # noqa: RUF001
)
SEED = ReplyStyle.of_template("tools <seed:think> <seed:tool_call>")
COMMAND = ReplyStyle.of_template("tools <|START_THINKING|> <|START_ACTION|> <|START_RESPONSE|>")
CODER = ReplyStyle.of_template("tools <tool_call> <function= <parameter=")
UNKNOWING = ReplyStyle.of_template("{{ messages }}")
FALLBACK = ReplyStyle.of_template("")

LOOK = [("look", {"at": "sky", "_n__": 2, "far": True})]


def parse(style, pieces, *, is_thinking=False, has_tools=True):
    """Answer, reasoning, calls as (name, arguments), faults."""
    parser = ReplyParser(style, is_thinking=is_thinking, has_tools=has_tools)
    parts = [part for piece in pieces for part in parser.push(piece)] + parser.finish()
    assert all(part.text for part in parts)
    answer, reasoning = (
        "".join(part.text for part in parts if part.kind == kind) for kind in (ANSWER, REASONING)
    )
    return answer, reasoning, [(call.name, call.arguments) for call in parser.calls], parser.faults


REPLIES = {
    "plain": (HERMES, False, " Hello.\n\nBye \n", ("Hello.\n\nBye \n", "", [])),
    "thinking": (
        HERMES,
        False,
        "<think>\nLet me see. \n</think>\n\nHello.",
        ("Hello.", "Let me see.", []),
    ),
    "opened by the prompt": (
        HERMES,
        True,
        "Let me see.\n</think>\n\nHi.",
        ("Hi.", "Let me see.", []),
    ),
    "never closed": (HERMES, True, "Let me", ("", "Let me", [])),
    "two blocks": (
        HERMES,
        False,
        "<think>a</think>Hi <think> b</think>you",
        ("Hi you", "a\n\nb", []),
    ),
    "an empty block": (
        HERMES,
        False,
        "<think>\n\n</think>\n\nHi <b> </b>",
        ("Hi <b> </b>", "", []),
    ),
    "Hermes": (
        HERMES,
        False,
        'I look.\n<tool_call>\n{"name": "look", "arguments": {"at": "sky", "_n__": 2, "far": true}}'
        "\n</tool_call>\n",
        ("I look.", "", LOOK),
    ),
    "Hermes, twice, arguments as text": (
        FALLBACK,
        False,
        '<tool_call>{"name": "a", "arguments": "{\\"x\\": 1.0}"}</tool_call>\n'
        '<tool_call>{"name": "b"}</tool_call> Done.',
        ("Done.", "", [("a", {"x": 1.0}), ("b", {})]),
    ),
    "Hermes without an end": (
        UNKNOWING,
        False,
        '<tool_call>[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]',
        ("", "", [("a", {}), ("b", {})]),
    ),
    "Qwen3-Coder": (
        CODER,
        False,
        "<tool_call>\n<function=look>\n<parameter=at>\nsky\n</parameter>\n<parameter=_n__>\n2\n"
        "</parameter>\n<parameter=far>\ntrue\n</parameter>\n</function>\n</tool_call>",
        ("", "", LOOK),
    ),
    "Qwen3-Coder without the outer tag": (
        CODER,
        False,
        "<function=say>\n<parameter=text>\na\n\n  <b>\n</parameter>\n</function>",
        ("", "", [("say", {"text": "a\n\n  <b>"})]),
    ),
    "GLM": (
        HERMES,
        False,
        "<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>sky</arg_value>\n"
        "<arg_key>_n__</arg_key>\n<arg_value>2</arg_value>\n<arg_key>far</arg_key>\n"
        "<arg_value>true</arg_value>\n</tool_call>",
        ("", "", LOOK),
    ),
    "Llama 3": (
        LLAMA,
        False,
        '{"name": "look", "parameters": {"at": "sky", "_n__": 2, "far": true}}',
        ("", "", LOOK),
    ),
    "Llama 3 with its tag": (
        LLAMA,
        False,
        '<|python_tag|>{"type": "function", "name": "look", "parameters": {"at": "sky", "_n__": 2, '
        '"far": true}}; {"name": "b", "parameters": {}}',
        ("", "", [*LOOK, ("b", {})]),
    ),
    "JSON that is an answer": (LLAMA, False, '{"price": 3}', ('{"price": 3}', "", [])),
    "JSON that looks like a call first": (LLAMA, False, '{"name": 3} ', ('{"name": 3} ', "", [])),
    "Mistral": (
        MISTRAL,
        False,
        '[TOOL_CALLS][{"name": "look", "arguments": {"at": "sky", "_n__": 2, "far": true}, '
        '"id": "call00000"}]',
        ("", "", LOOK),
    ),
    "Mistral of 2025": (
        MISTRAL,
        False,
        '[THINK]Hm.[/THINK]Yes.[TOOL_CALLS]look[ARGS]{"at": "sky", "_n__": 2, "far": true}'
        "[TOOL_CALLS]b[CALL_ID]123456789[ARGS]{}",
        ("Yes.", "Hm.", [*LOOK, ("b", {})]),
    ),
    "Phi-4-mini": (
        PHI,
        False,
        '<|tool_call|>[{"name": "look", "arguments": {"at": "sky", "_n__": 2, "far": true}}]'
        "<|/tool_call|>",
        ("", "", LOOK),
    ),
    "Granite 3": (
        PHI,
        False,
        '<|tool_call|>[{"name": "look", "arguments": {"at": "sky", "_n__": 2, "far": true}}]',
        ("", "", LOOK),
    ),
    "LFM2": (
        LFM,
        False,
        "<|tool_call_start|>[look(at='sky', _n__=2, far=True), b(x=[1, 2.0, {'from': None}], "
        's="it\\\'s \\u00e9\\n")]<|tool_call_end|>Wait.',
        ("Wait.", "", [*LOOK, ("b", {"x": [1, 2.0, {"from": None}], "s": "it's é\n"})]),
    ),
    "DeepSeek R1": (
        DEEPSEEK,
        True,
        "Hm.</think>I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n"  # noqa: RUF001
        '```json\n{"at": "sky", "_n__": 2, "far": true}\n```<｜tool▁call▁end｜>'  # noqa: RUF001
        "<｜tool▁calls▁end｜>",  # noqa: RUF001
        ("I look.", "Hm.", LOOK),
    ),
    "DeepSeek V3.1": (
        DEEPSEEK,
        False,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>"  # noqa: RUF001
        '{"at": "sky", "_n__": 2, "far": true}<｜tool▁call▁end｜><｜tool▁call▁begin｜>b'  # noqa: RUF001
        "<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",  # noqa: RUF001
        ("", "", [*LOOK, ("b", {})]),
    ),
    "Gemma 4": (
        GEMMA_4,
        False,
        '<|channel>thought\nHm.\n<channel|><|tool_call>call:look{at:<|"|>sky<|"|>,_n__:2,far:true}'
        '<tool_call|><|tool_call>call:b{l:[<|"|>a, {b}<|"|>,-1.5],o:{k:null}}<tool_call|>',
        ("", "Hm.", [*LOOK, ("b", {"l": ["a, {b}", -1.5], "o": {"k": None}})]),
    ),
    "FunctionGemma": (
        ReplyStyle.of_template("tools <start_function_call> <escape>"),
        False,
        "<start_function_call>call:look{at:<escape>sky<escape>,_n__:2,far:true}<end_function_call>",
        ("", "", LOOK),
    ),
    "Seed-OSS": (
        SEED,
        False,
        "<seed:think>Hm.</seed:think><seed:tool_call>\n<function=look>\n<parameter=at>sky"
        "</parameter>\n<parameter=_n__>2</parameter>\n<parameter=far>true</parameter>\n</function>"
        "\n</seed:tool_call>",
        ("", "Hm.", LOOK),
    ),
    "Command R7B": (
        COMMAND,
        False,
        '<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n{"tool_call_id": "0", '
        '"tool_name": "look", "parameters": {"at": "sky", "_n__": 2, "far": true}}\n]'
        "<|END_ACTION|>",
        ("", "Hm.", LOOK),
    ),
    "wrapped": (COMMAND, False, "<|START_RESPONSE|>Hi.<|END_RESPONSE|>", ("Hi.", "", [])),
    "gpt-oss": (
        HARMONY,
        False,
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>"
        "I look.<|end|><|start|>assistant<|channel|>commentary to=functions.look "
        '<|constrain|>json<|message|>{"at": "sky", "_n__": 2, "far": true}<|call|>',
        ("I look.", "Hm.", LOOK),
    ),
    "gpt-oss, recipient first": (
        HARMONY,
        False,
        " to=functions.look<|channel|>commentary json<|message|>"
        '{"at": "sky", "_n__": 2, "far": true}',
        ("", "", LOOK),
    ),
    "gpt-oss answers": (
        HARMONY,
        False,
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi "
        "there.<|return|>",
        ("Hi there.", "Hm.", []),
    ),
    "gpt-oss without a channel": (HARMONY, False, "Hi.", ("Hi.", "", [])),
}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_comes_apart(reply):
    style, is_thinking, text, expected = REPLIES[reply]
    whole = parse(style, [text], is_thinking=is_thinking)
    assert whole == (*expected, [])
    assert parse(style, text, is_thinking=is_thinking) == whole
    for (_, wanted), (_, found) in zip(expected[2], whole[2], strict=True):
        assert list(map(type, wanted.values())) == list(map(type, found.values()))


@settings(deadline=None, derandomize=True, database=None, max_examples=400)
@given(
    st.sampled_from(sorted(REPLIES)),
    st.lists(st.integers(0, 400), max_size=6),
    st.lists(
        st.sampled_from([*'<>|{}[]" \n', "<think>", "</think>", "<tool_call>", "x"]), max_size=4
    ),
    st.booleans(),
)
def test_what_comes_out_does_not_depend_on_how_the_text_was_cut(reply, cuts, noise, has_tools):
    style, is_thinking, text, _ = REPLIES[reply]
    for place, piece in zip(cuts, noise, strict=False):
        text = text[:place] + piece + text[place:]
    ends = sorted({0, *(cut % (len(text) + 1) for cut in cuts), len(text)})
    pieces = [text[start:end] for start, end in pairwise(ends)]
    options = {"is_thinking": is_thinking, "has_tools": has_tools}
    assert parse(style, pieces, **options) == parse(style, [text], **options)


def test_text_comes_as_soon_as_it_is_no_marker():
    parser = ReplyParser(HERMES, is_thinking=False, has_tools=True)
    assert [part.text for part in parser.push("a <thi")] == ["a"]
    assert [part.text for part in parser.push("s> b")] == [" <this> b"]
    assert [part.text for part in parser.push("<")] == []
    assert [part.text for part in parser.finish()] == ["<"]


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (HERMES, '<tool_call>{"name": "a", </tool_call>'),
        (HERMES, "<tool_call>{}</tool_call>"),
        (HERMES, "<tool_call></tool_call>"),
        (HERMES, '<tool_call>{"name": "a", "arguments": [1]}</tool_call>'),
        (HERMES, '<tool_call>{"name": "a", "arguments": {"x": NaN}}</tool_call>'),
        (HERMES, '<tool_call>{"name": "a", "arg'),
        (HERMES, f'<tool_call>{{"name": "a", "arguments": {{"x": {"9" * 5000}}}}}</tool_call>'),
        (HERMES, f'<tool_call>{{"name": "a", "arguments": {{"x": {"[" * 99_999}}}}}</tool_call>'),
        (LFM, "<|tool_call_start|>[look(1)]<|tool_call_end|>"),
        (LFM, "<|tool_call_start|>[look(a='x)]<|tool_call_end|>"),
        (LFM, f"<|tool_call_start|>[look(a={'[' * 9_999})]<|tool_call_end|>"),
        (GEMMA_4, '<|tool_call>call:look{at:<|"|>sky}<tool_call|>'),
        (MISTRAL, "[TOOL_CALLS]look[ARGS]{"),
        (HARMONY, "<|channel|>commentary to=functions.a<|message|>{<|call|>"),
    ],
)
def test_a_call_that_cannot_be_read_is_a_fault_with_words_for_the_model(style, text):
    answer, _, calls, faults = parse(style, [text])
    assert (answer, calls, len(faults)) == ("", [], 1)
    assert text[:40] in faults[0] or style.is_harmony
    assert len(faults[0]) < 400
    assert parse(style, text) == parse(style, [text])


def test_calls_beside_a_faulty_one_count():
    text = '<tool_call>{"name": "a"}</tool_call><tool_call>{</tool_call>'
    _, _, calls, faults = parse(HERMES, [text])
    assert (calls, len(faults)) == ([("a", {})], 1)


def test_without_tools_a_call_is_text():
    text = '<tool_call>{"name": "a"}</tool_call>'
    assert parse(HERMES, [text], has_tools=False) == (text, "", [], [])
    assert parse(LLAMA, ['{"name": "a"}'], has_tools=False)[0] == '{"name": "a"}'


NAMES = st.from_regex(r"[A-Za-z_]{1,4}\w{0,4}", fullmatch=True)
VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)


def as_gemma(value):
    return f'<|"|>{value}<|"|>' if isinstance(value, str) else json.dumps(value)


@settings(deadline=None, derandomize=True, database=None, max_examples=300)
@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=3))
def test_names_and_values_come_out_as_they_were_written(name, arguments):
    call = json.dumps({"name": name, "arguments": arguments})
    keywords = ", ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())
    fields = ",".join(f"{key}:{as_gemma(value)}" for key, value in arguments.items())
    for style, text in (
        (HERMES, f"<tool_call>{call}</tool_call>"),
        (LLAMA, call),
        (MISTRAL, f"[TOOL_CALLS]{name}[ARGS]{json.dumps(arguments)}"),
        (LFM, f"<|tool_call_start|>[{name}({keywords})]<|tool_call_end|>"),
        (GEMMA_4, f"<|tool_call>call:{name}{{{fields}}}<tool_call|>"),
    ):
        _, _, calls, faults = parse(style, [text])
        assert (calls, faults) == ([(name, arguments)], []), text
        assert list(map(type, calls[0][1].values())) == list(map(type, arguments.values()))


def test_markers_are_the_control_tokens_that_a_parser_has_to_see():
    assert {"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", '<|"|>'} <= GEMMA_4.markers
    assert {"<|channel|>", "<|message|>", "<|start|>", "<|end|>"} <= HARMONY.markers
    assert {"[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"} <= MISTRAL.markers
    assert HERMES.markers == {"<tool_call>", "</tool_call>", "<think>", "</think>"}
    assert FALLBACK.markers == {"<tool_call>", "</tool_call>"}


@pytest.mark.parametrize("style", [HERMES, ReplyStyle(is_harmony=True)], ids=["hermes", "harmony"])
def test_numbers_that_the_engine_cannot_hold(style: ReplyStyle) -> None:
    arguments = '{"a": 123456789012345678901234567890, "b": [9007199254740993]}'
    text = f'<tool_call>{{"name": "look", "arguments": {arguments}}}</tool_call>'
    if style.is_harmony:
        text = f"<|channel|>commentary to=functions.look<|message|>{arguments}<|call|>"
    parser = ReplyParser(style, is_thinking=False, has_tools=True)
    parser.push(text)
    parser.finish()
    [call] = parser.calls
    assert repr(call.arguments) == repr({"a": 1.2345678901234568e29, "b": [9007199254740993]})
