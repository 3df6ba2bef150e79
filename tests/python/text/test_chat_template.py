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
        pytest.param(
            "{{ {'b': 1, 'a': 'é'} | tojson(ensure_ascii=true, sort_keys=true, "
            "separators=(',', ':')) }}",
            ASK,
            '{"a":"\\u00e9","b":1}',
            id="tojson's arguments",
        ),
        pytest.param(
            "a{% generation %}b{{ 'c' }}{% if 1 %}d{% endif %}{% endgeneration %}e",
            ASK,
            "abcde",
            id="generation blocks",
        ),
        pytest.param("{{ pad_token + 'x' + mask_token }}", ASK, "x", id="tokens it has not"),
        pytest.param("{{ 'x' + missing + 'y' + missing.__str__ }}", ASK, "xy", id="undefined"),
        pytest.param("{{ missing ~ 'x' ~ none ~ 1 }}", ASK, "xNone1", id="joining by ~"),
        pytest.param("{{ 'a' + {'b': ['é']} }}", ASK, 'a{"b": ["é"]}', id="a mapping beside text"),
        pytest.param("{{ messages[0] }}", ASK, "{'role': 'user', 'content': 'Hi'}", id="printed"),
        pytest.param(
            "{% autoescape true %}{{ '<' }}{% endautoescape %}", ASK, "<", id="autoescape"
        ),
        pytest.param(
            "{% macro f(x, y='-') %}{{ x }}{{ y }}{{ caller() }}{% endmacro %}"
            "{% call f('a') %}b{% endcall %}",
            ASK,
            "a-b",
            id="macros and calls",
        ),
        pytest.param(
            "{% set x %}{{ 1 }}2{% endset %}{% filter upper %}a{{ x }}{% endfilter %}",
            ASK,
            "A12",
            id="blocks that are set or filtered",
        ),
        pytest.param(
            "{% for k, v in {'b': 1, 'a': 2} | dictsort %}{{ k }}{{ v }}{{ loop.index }}"
            "{% if not loop.last %},{% endif %}{% endfor %}",
            ASK,
            "a21,b12",
            id="dictsort",
        ),
        pytest.param(
            "{{ messages | map(attribute='content') | join('+') }}"
            "{{ messages | selectattr('content', 'equalto', 'b') | list | length }}"
            "{{ messages | rejectattr('content', 'in', ['b']) | map('items') | first }}",
            THREE,
            "a+b+c1[('role', 'user'), ('content', 'a')]",
            id="map and select",
        ),
        pytest.param(
            "{% for m in messages | reverse %}{{ m.content }}{{ loop.length }}{% endfor %}",
            THREE,
            "c3b3a3",
            id="reverse",
        ),
        pytest.param(
            "{{ '{:.2f}|{a}'.format(1, a='b') }}{{ '%05.1f|%s' % (2, [1]) }}{{ '%d' | format(3) }}",
            ASK,
            "1.00|b002.0|[1]3",
            id="formats",
        ),
        pytest.param(
            "{{ 7 // 2 }}{{ 7 % 4 }}{{ 2 ** 3 }}{{ -(1) }}{{ 1.5 | round }}{{ [1, 2] | sum }}",
            ASK,
            "338-12.03",
            id="arithmetic",
        ),
        pytest.param(
            "{{ cycler('a', 'b').next() }}{{ namespace(x=1) }}", ASK, "a<namespace>", id="globals"
        ),
    ],
)
def test_render(source, messages, expected):
    assert render(source, messages) == expected


def test_tools_and_the_switch_for_thinking():
    template = ChatTemplate("{{ tools | tojson }}{{ enable_thinking }}{{ documents }}", {})
    assert template.render([]) == "nullTrueNone"
    assert template.render([], [{"a": 1}], allow_thinking=False) == '[{"a": 1}]FalseNone'
    assert template.knows_tools
    assert not ChatTemplate("{{ message.tool_calls }}", {}).knows_tools


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
        pytest.param(
            "{% if 1 %}{{ raise_exception('x' * 9999) }}{% endif %}",
            "chat template: xxx",
            id="long",
        ),
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
    assert len("chat template: ") < len(str(error.value)) < 600
