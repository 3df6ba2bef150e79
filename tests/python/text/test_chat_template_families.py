"""Each family's prompt format, from a template with the constructs that the real ones use."""

import datetime
import json
from pathlib import Path

import pytest
from golden.chat_conversations import CONVERSATIONS, DATES, TOKENS

from llm.files.metadata import Metadata
from llm.text.chat_format import ChatFormat
from llm.text.chat_template import ChatTemplate
from llm.text.messages import template_messages
from llm.text.reply import ReplyParser
from llm.text.reply_style import ReplyStyle

FOLDER = Path(__file__).parents[2] / "golden" / "chat_templates"


def source_of(family):
    return (FOLDER / f"{family}.jinja").read_text("utf-8")


def prompts_of(family):
    return json.loads((FOLDER / f"{family}.json").read_text("utf-8"))["prompts"]


ROWS = [(family, name) for family in TOKENS for name in prompts_of(family)]


def rendered(family, name, bos, eos):
    """None where the template refuses the messages."""
    messages, tools, allow_thinking = CONVERSATIONS[name]
    template = ChatTemplate(source_of(family), {"bos_token": bos, "eos_token": eos})
    return template.render(template_messages(messages), tools, allow_thinking=allow_thinking)


def dated(text):
    for form in DATES:
        text = text.replace(f"TODAY({form})", datetime.datetime.now().strftime(form))
    return text


def test_there_is_a_fixture_for_every_family():
    assert len(TOKENS) >= 12
    assert {path.stem for path in FOLDER.iterdir()} == set(TOKENS)


@pytest.mark.parametrize(("family", "name"), ROWS)
def test_a_family_s_prompt_is_the_one_stored(family, name):
    stored = prompts_of(family)[name]
    if stored is None:
        with pytest.raises(Exception, match="chat template: "):
            rendered(family, name, *TOKENS[family])
    else:
        assert rendered(family, name, *TOKENS[family]) == dated(stored)


@pytest.mark.parametrize(("family", "name"), ROWS)
def test_the_ids_have_one_bos_and_all_that_was_said(gemma, family, name):
    format = ChatFormat.from_metadata(
        Metadata({"tokenizer.chat_template": source_of(family)}, "m.gguf"), gemma
    )
    messages, tools, allow_thinking = CONVERSATIONS[name]
    ids = format.encode(messages, tools=tools, allow_thinking=allow_thinking).ids
    text = gemma.decode(ids)
    # Llama 2 begins each question with one.
    assert ids.count(gemma.bos_id) == 1 + (family == "llama_2") * source_turns(messages)
    assert ids[0] == gemma.bos_id
    for message in messages:
        assert message["content"] in text or json.dumps(message["content"]) in text
    for tool in tools:
        assert tool["function"]["name"] in text
    assert gemma.encode(text, add_bos=True)[0] == gemma.bos_id


def source_turns(messages):
    return sum(message["role"] == "user" for message in messages) - 1


@pytest.mark.parametrize(
    ("family", "is_thinking", "closed"),
    [
        ("deepseek_r1", True, "<think>\n\n</think>\n\n"),
        ("qwen_3", False, "<think>\n\n</think>\n\n"),
        ("smollm_3", False, "<think>\n\n</think>\n"),
        ("gemma_4", False, "<|channel>thought\n<channel|>"),
    ],
)
def test_thinking_is_on_or_off(gemma, family, is_thinking, closed):
    format = ChatFormat.from_metadata(
        Metadata({"tokenizer.chat_template": source_of(family)}, "m.gguf"), gemma
    )
    messages = CONVERSATIONS["system"][0]
    thinking = format.encode(messages)
    assert thinking.is_thinking is is_thinking
    assert not gemma.decode(thinking.ids).endswith(closed)
    silent = format.encode(messages, allow_thinking=False)
    assert not silent.is_thinking
    assert gemma.decode(silent.ids).endswith(closed)


# family -> what ends the model's turn after a call
CALLING = {
    "deepseek_r1": "<｜end▁of▁sentence｜>",  # noqa: RUF001
    "gemma_4": "<|tool_response>",
    "gpt_oss": "<|call|>",
    "granite_3_3": "<|end_of_text|>",
    "lfm_2": "<|im_end|>",
    "llama_3_1": "<|eot_id|>",
    "mistral_tekken": "</s>",
    "mistral_v3": "</s>",
    "phi_4_mini": "<|end|>",
    "qwen_2_5": "<|im_end|>",
    "qwen_3": "<|im_end|>",
    "smollm_3": "<|im_end|>",
}


@pytest.mark.parametrize("family", CALLING)
def test_a_call_is_read_as_the_family_s_template_writes_it(family):
    asked, answered = (
        rendered(family, name, *TOKENS[family]).removesuffix("<think>\n")
        for name in ("tools", "result")
    )
    assert answered.startswith(asked)
    said = answered.removeprefix(asked).split(CALLING[family])[0]
    style = ReplyStyle.of_template(source_of(family))
    parser = ReplyParser(style, is_thinking=False, has_tools=True)
    parts = parser.push(said) + parser.finish()
    assert [(call.name, call.arguments) for call in parser.calls] == [
        ("weather", {"place": "Zürich", "_days": 2})
    ]
    assert not parser.faults
    shows_reasoning = family == "qwen_3"
    assert [(part.kind, part.text) for part in parts] == shows_reasoning * [
        ("reasoning", "I must look.")
    ]
