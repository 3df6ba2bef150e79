"""A page of the editor's help as Markdown."""

from pathlib import Path

import pytest

from website.reference import ClassPage, index, markdown, read

THING = """<?xml version="1.0" encoding="UTF-8" ?>
<class name="Thing" inherits="Node" version="4.0">
<brief_description>A thing.</brief_description>
<description>See [member size_xy] and [Other].
Two *stars*, a &lt;tag&gt; and [method Other.go], [method Node._process], [signal gone].\
</description>
<methods>
<method name="grow" qualifiers="static"><return type="int" />\
<param index="0" name="by" type="float" default="0.5" />\
<param index="1" name="at" type="Variant" /><description>Adds [param by].</description></method>
</methods>
<members>
<member name="size_xy" type="int" setter="set_size_xy" getter="get_size_xy" default="7">\
[code]{"a": [1]}[/code] or [code]b, c[/code] (more)[code], d_e[/code].</member>
</members>
<signals>
<signal name="gone"><description></description></signal>
</signals>
</class>
"""


@pytest.fixture
def page(tmp_path: Path) -> ClassPage:
    path = tmp_path / "Thing.xml"
    path.write_text(THING, encoding="utf-8")
    return read(path)


def lines(page: ClassPage) -> list[str]:
    return markdown(page, {"Thing", "Other"}).splitlines()


def test_members_are_declared_as_in_gdscript(page: ClassPage) -> None:
    assert [member.signature for member in page.members] == [
        "var size_xy: int = 7",
        "static func grow(by: float = 0.5, at: Variant) -> int",
        "signal gone",
    ]


def test_members_have_headings_that_links_name(page: ClassPage) -> None:
    headings = [line for line in lines(page) if line.startswith("#")]
    assert headings == [
        "# Thing",
        "## Properties",
        "### size\\_xy { #size_xy }",
        "## Methods",
        "### grow { #grow }",
        "## Signals",
        "### gone { #gone }",
    ]


def test_references_are_links_where_there_is_a_page(page: ClassPage) -> None:
    text = lines(page)
    assert "See [`size_xy`](#size_xy) and [`Other`](other.md)." in text
    assert (
        "Two \\*stars\\*, a \\<tag\\> and [`Other.go`](other.md#go), `Node._process`, "
        "[`gone`](#gone)." in text
    )
    assert "Adds `by`." in text


def test_codes_stay_as_they_are_but_for_commas_around(page: ClassPage) -> None:
    assert '`{"a": [1]}` or `b, c` (more), `d_e`.' in lines(page)


def test_the_index_leads_to_each_class(page: ClassPage) -> None:
    assert "| [`Thing`](thing.md) | `Node` | A thing. |" in index([page]).splitlines()
