"""No template hangs, or fills the memory: each kind of attack ends with a limit's name."""

import threading
import time
import tracemalloc

import pytest

from llm.errors import RequestError
from llm.text import template_budget
from llm.text.chat_template import ChatTemplate, TemplateRefusedError

MANY = "{% for i in range(100) %}"
END = "{% endfor %}"
# A list in a list, a hundred times: nothing in memory, and 2 to the 100th texts when printed.
NESTED = f"{{% set n = namespace(x=[1]) %}}{MANY}{{% set n.x = [n.x, n.x] %}}{END}"
# The same of tuples, which can be hashed.
HASHED = f"{{% set n = namespace(x=(1, 2), d={{}}) %}}{MANY}{{% set n.x = (n.x, n.x) %}}{END}"
DEEP = (
    "{% set n = namespace(x=(1,)) %}{% for i in range(50000) %}{% set n.x = (n.x,) %}{% endfor %}"
)
BIG = "{% set b = 'x' * 2000000 %}"

TIME, VALUE, TOTAL = "longer than", "a value of more than", "on the way"

ATTACKS = {
    # loops and calls
    "nested loops": ("{% for a in range(99999) %}" * 4 + END * 4, TIME),
    "a loop whose filter is never true": (
        "{% for a in range(99999) %}{% for b in range(99999) if false %}" + END * 2,
        TIME,
    ),
    "macros that call themselves twice": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
        "{{ f(60) }}",
        TIME,
    ),
    "endless recursion": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "64 deep"),
    "a recursive loop": (
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "64 deep",
    ),
    "a block that prints itself": ("{% block a %}{{ self.a() }}{% endblock %}", "64 deep"),
    "an enormous range": ("{{ range(10 ** 9) | list }}", "100,000 in one range"),
    "filters over filters": (
        "{% for i in range(999) %}{{ range(9999) | map('string') | list | length }}{% endfor %}",
        TIME,
    ),
    # texts that double or multiply
    "a text times a number": ("{{ 'x' * 10 ** 9 }}", VALUE),
    "a number times a list": ("{{ 10 ** 9 * [1] }}", VALUE),
    "joining by ~": (
        f"{{% set n = namespace(x='x') %}}{MANY}{{% set n.x = n.x ~ n.x %}}{END}",
        VALUE,
    ),
    "joining by +": (
        f"{{% set n = namespace(x='x') %}}{MANY}{{% set n.x = n.x + n.x %}}{END}",
        VALUE,
    ),
    "lists by +": (
        f"{{% set n = namespace(x=[1]) %}}{MANY}{{% set n.x = n.x + n.x %}}{END}",
        VALUE,
    ),
    "a macro that prints twice": (
        "{% macro d(x) %}{{ x }}{{ x }}{% endmacro %}{% set n = namespace(x='x') %}"
        f"{MANY}{{% set n.x = d(n.x) %}}{END}",
        VALUE,
    ),
    "a block that is set": (
        "{% set n = namespace(x='x') %}"
        f"{MANY}{{% set x %}}{{{{ n.x }}}}{{{{ n.x }}}}{{% endset %}}{{% set n.x = x %}}{END}",
        VALUE,
    ),
    "an endless prompt": ("{% for i in range(99999) %}" + "x" * 1000 + END, VALUE),
    "slices that are kept": (
        BIG + "".join(f"{{% set x{i} = b[{i}:] %}}" for i in range(1000)),
        TOTAL,
    ),
    "many values one after another": (
        BIG + "{% for i in range(99999) %}{% set x = b.upper() %}{% endfor %}",
        TOTAL,
    ),
    # methods and filters that multiply
    "str.join": ("{{ ('y' * 999999).join('x' * 999999) }}", VALUE),
    "join": ("{{ ('x' * 999999) | join('y' * 999999) }}", VALUE),
    "str.replace": ("{{ ('x' * 999999).replace('x', 'y' * 999999) }}", VALUE),
    "replace": ("{{ ('x' * 999999) | replace('', 'y' * 999999) }}", VALUE),
    "indent": ("{{ ('\\n' * 999999) | indent(999999) }}", VALUE),
    "a constant for the compiler": ("{{ 'x' | indent(10 ** 9) }}", VALUE),
    "repeated fields": ("{{ ('{0}' * 999999).format('x' * 999999) }}", VALUE),
    "repeated conversions": ("{{ ('%s' * 999999) % 'x' }}", VALUE),
    # values that are small until someone walks through them
    "printing a nested list": (NESTED + "{{ n.x }}", VALUE),
    "a nested list as JSON": (NESTED + "{{ n.x | tojson }}", VALUE),
    "comparing nested lists": (NESTED + "{% set y = n.x %}" + NESTED + "{{ y == n.x }}", VALUE),
    "a nested list as a text": (NESTED + "{{ n.x | string }}", VALUE),
    "a nested list beside a text": (NESTED + "{{ 'a' ~ n.x }}", VALUE),
    "a nested list in a format": (NESTED + "{{ '%s' % (n.x,) }}", VALUE),
    "looking up a nested tuple": (HASHED + "{{ n.d[n.x] }}", VALUE),
    "looking up a nested tuple by get": (HASHED + "{{ n.d.get(n.x) }}", VALUE),
    "a nested tuple as a key": (HASHED + "{% set d = {n.x: 1} %}", VALUE),
    "a nested tuple as a key of dict": (HASHED + "{% set d = dict([(n.x, 1)]) %}", VALUE),
    "unique nested tuples": (HASHED + "{% set d = [n.x] | unique %}", VALUE),
    "an error that prints a nested list": (NESTED + "{{ [1].index(n.x) }}", VALUE),
    "an index in a nested list": (NESTED + "{{ n.x.index(1) }}", VALUE),
    "an error of a nested list": (NESTED + "{{ raise_exception(n.x) }}", VALUE),
    "printing a deep list": (DEEP + "{{ n.x }}", "100 deep"),
    "comparing with a deep tuple": (DEEP + "{{ n.x == 1 }}", "100 deep"),
    "hashing a deep tuple": (DEEP + "{{ {}[n.x] }}", "100 deep"),
    "a wide and deep list as JSON": (
        "{% set n = namespace(x=[1]) %}{% for i in range(80) %}{% set n.x = [n.x] %}{% endfor %}"
        "{% for i in range(20) %}{% set n.x = n.x + n.x %}{% endfor %}"
        "{{ n.x | tojson(indent=16) }}",
        VALUE,
    ),
    # numbers
    "a power": ("{{ 10 ** (10 ** 10) }}", "4096 bits"),
    "a product of powers": ("{{ (10 ** 1000) * (10 ** 1000) }}", "4096 bits"),
    "a number from a long text": ("{{ ('f' * 2000000) | int(0, 16) }}", "4096 bits"),
    "rounding to many digits": ("{{ 1.5 | round(10 ** 9, 'floor') }}", VALUE),
    # the program itself
    "a long source": ("{{ a }}" * 10_000, "65,536"),
}

FORBIDDEN = {
    "a wide conversion": "{{ '%999999999d' % 1 }}",
    "a conversion of given width": "{{ '%*d' % (10 ** 9, 1) }}",
    "a named conversion": "{{ '%(a)999999999d' % {'a': 1} }}",
    "a wide field": "{{ '{:999999999}'.format(1) }}",
    "a field of given width": "{{ '{:{}}'.format(1, 10 ** 9) }}",
    "format_map": "{{ '{a:999999999}'.format_map({'a': 1}) }}",
    "the filter format": "{{ '%999999999d' | format(1) }}",
    "str.center": "{{ 'x'.center(10 ** 9) }}",
    "str.zfill": "{{ 'x'.zfill(10 ** 9) }}",
    "str.expandtabs": "{{ '\t'.expandtabs(10 ** 9) }}",
    "int.to_bytes": "{{ (1).to_bytes(10 ** 9) }}",
    "center": "{{ 'x' | center(10 ** 9) }}",
    "batch": "{{ [1] | batch(10 ** 9, 1) }}",
    "lipsum": "{{ lipsum(n=10 ** 9) }}",
    "a method of a type": "{{ dict.fromkeys([1]) }}",
    "a method through attr": "{{ ('x' | attr('center'))(10 ** 9) }}",
    "a sum of lists": "{{ [[1], [2]] | sum(start=[]) }}",
    "tojson with a wide indent": "{{ [1] | tojson(indent=10 ** 9) }}",
    "a wide date": "{{ strftime_now('%999999999Y') }}",
    "deep brackets": "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}",
    "deep blocks": "{% if 1 %}" * 5_000 + "{% endif %}" * 5_000,
    "loops deeper than Python has them": "{% for i in [1] %}" * 60 + END * 60,
    "a long chain of slices": BIG + "{{ b" + "[1:]" * 5_000 + " }}",
    "another file": "{% include '/etc/passwd' %}",
}


def ends(source: str) -> str:
    """The error in which rendering ends, soon and without much memory."""
    started = time.thread_time()
    with pytest.raises(RequestError) as error:
        ChatTemplate(source, {}).render([{"role": "user", "content": "Hi"}])
    assert time.thread_time() - started < 2.5 * template_budget.SECONDS + 1.0
    return str(error.value)


@pytest.fixture
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_budget, "SECONDS", 0.25)


@pytest.mark.usefixtures("little_time")
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_ends_with_the_limit_s_name(attack: str) -> None:
    source, limit = ATTACKS[attack]
    message = ends(source)
    assert limit in message or (limit != TIME and TIME in message), message
    assert message.startswith("chat template: it ")


@pytest.mark.parametrize("attack", FORBIDDEN)
def test_what_has_no_bound_is_refused(attack: str) -> None:
    assert ends(FORBIDDEN[attack]).startswith("chat template")


@pytest.mark.usefixtures("little_time")
@pytest.mark.parametrize(
    "attack", ["slices that are kept", "joining by +", "a nested list as JSON", "str.join"]
)
def test_an_attack_takes_little_memory(attack: str) -> None:
    tracemalloc.start()
    try:
        ends(ATTACKS[attack][0])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * template_budget.TOTAL_CHARACTERS


@pytest.mark.usefixtures("little_time")
def test_a_template_that_met_a_limit_renders_again_and_on_a_thread() -> None:
    template = ChatTemplate(
        "{% for i in range(messages[0].content | int) %}{% for j in range(9999) %}{% endfor %}"
        "{% endfor %}{{ messages[0].content }}",
        {},
    )
    found: list[str] = []

    def render(count: int) -> None:
        try:
            found.append(template.render([{"role": "user", "content": str(count)}]))
        except RequestError as error:
            found.append(str(error))

    for count in (1, 99_999, 2):
        thread = threading.Thread(target=render, args=[count])
        thread.start()
        thread.join()
    assert found[0] == "1"
    assert TIME in found[1]
    assert found[2] == "2"


def test_a_limit_is_no_refusal_of_the_messages() -> None:
    """Simpler messages are tried after a refusal, and would take as long again."""
    with pytest.raises(TemplateRefusedError):
        ChatTemplate("{{ raise_exception('no') }}", {}).render([])
    with pytest.raises(RequestError) as error:
        ChatTemplate("{{ 'x' * 10 ** 9 }}", {}).render([])
    assert not isinstance(error.value, TemplateRefusedError)


def test_a_long_conversation_is_within_the_limits() -> None:
    """A thousand turns, in a template that counts and looks back in each of them."""
    template = ChatTemplate(
        "{% for m in messages %}{% if loop.index0 < messages | length - 1 and "
        "messages[loop.index0 - 1].role != m.role %}{{ '<|' ~ m.role ~ '|>' + m.content | trim }}"
        "{% endif %}{% endfor %}",
        {},
    )
    messages = [
        {"role": ("user", "assistant")[turn % 2], "content": f"Turn {turn} " * 20}
        for turn in range(1000)
    ]
    assert "Turn 998" in template.render(messages)
