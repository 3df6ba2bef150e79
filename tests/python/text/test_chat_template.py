"""What templates of real model files use works; what they do wrong is a RequestError."""

import datetime

import pytest

from llm.errors import RequestError
from llm.text.chat_template import ChatTemplate

ASK = [{"role": "user", "content": "Hi"}]
THREE = [{"role": "user", "content": text} for text in ("a", "b", "c")]


def render(source, messages=ASK):
    return ChatTemplate(source, {"bos_token": "<s>", "eos_token": "</s>"}).render(messages)


@pytest.mark.parametrize(
    ("source", "messages", "expected"),
    [
        pytest.param("{{ bos_token + 'x' + eos_token }}", ASK, "<s>x</s>", id="bos and eos"),
        pytest.param(
            "{% for m in messages %}\n  {{ m['role'] }}: {{ m.content }}\n{% endfor %}\n",
            ASK,
            "  user: Hi\n",
            id="blocks leave no lines of their own",
        ),
        pytest.param("{% if add_generation_prompt %}A:{% endif %}", ASK, "A:", id="prompt"),
        pytest.param("{% if tools %}T{% endif %}|{{ x is defined }}", ASK, "|False", id="no tools"),
        pytest.param(
            "{% for i in range(2, -1, -1) %}{{ messages[i].content }}{% endfor %}",
            THREE,
            "cba",
            id="counting down",
        ),
        pytest.param(
            "{% for m in messages[::-1] %}{{ m.content }}{% endfor %}{{ messages[-1].content }}",
            THREE,
            "cbac",
            id="reverse and negative slices",
        ),
        pytest.param(
            "{% for m in messages %}{% if loop.index0 == 1 %}{% continue %}{% endif %}"
            "{{ m.content }}{% if loop.last %}{% break %}{% endif %}{% endfor %}",
            THREE,
            "ac",
            id="loop controls",
        ),
        pytest.param(
            "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
            "{% endfor %}{{ ns.n }}",
            THREE,
            "3",
            id="namespaces",
        ),
        pytest.param(
            "{{ {'a': '<é>&\"', 'b': [1, none, true]} | tojson }}",
            ASK,
            '{"a": "<é>&\\"", "b": [1, null, true]}',
            id="tojson escapes nothing for HTML",
        ),
        pytest.param("{{ {'a': 1} | tojson(indent=2) }}", ASK, '{\n  "a": 1\n}', id="indent"),
        pytest.param("{{ messages[0].content.strip().split('i')[0] }}", ASK, "H", id="methods"),
    ],
)
def test_render(source, messages, expected):
    assert render(source, messages) == expected


def test_strftime_now():
    assert render("{{ strftime_now('%Y') }}") in {
        str(datetime.datetime.now().year + later) for later in (-1, 0)
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            "{{ raise_exception('System role not supported') }}",
            "chat template: System role not supported",
            id="the template's own words",
        ),
        pytest.param("a\n{% if %}", "chat template line 2: ", id="syntax"),
        pytest.param("{{ missing() }}", "chat template: 'missing' is undefined", id="undefined"),
        pytest.param("{{ 1 / 0 }}", "chat template: division by zero", id="arithmetic"),
        pytest.param("{{ messages.append(1) }}", "chat template: ", id="changing the messages"),
        pytest.param("{{ ''.__class__.__mro__ }}", "chat template: ", id="out of the sandbox"),
        pytest.param("{{ range(10 ** 9) | list }}", "chat template: ", id="enormous ranges"),
        pytest.param("{{ raise_exception('') }}", "chat template: TemplateError", id="no words"),
        pytest.param("{{ raise_exception('a\nb') }}", "chat template: a b", id="one line"),
        pytest.param(
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "chat template: ", id="recursion"
        ),
    ],
)
def test_errors(source, message):
    with pytest.raises(RequestError) as error:
        render(source)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) > len("chat template: ")
