"""What MkDocs calls while it builds the site; named in mkdocs.yml."""

from fnmatch import fnmatchcase
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from setup.paths import ADDON
from website import reference

FOLDER = "reference"
ICON = "icon.svg"
FOR_DEVELOPERS = ("decisions/", "lab_notes", "where_time_goes")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is generated, then lays out the navigation."""
    pages = [reference.read(path) for path in sorted(reference.CLASS_PAGES.glob("*.xml"))]
    known = {page.name for page in pages}
    for page in pages:
        _add(files, config, reference.file_name(page.name), reference.markdown(page, known))
    _add(files, config, "index.md", reference.index(pages))
    icon = str(ADDON / "icons" / "llm.svg")
    files.append(File.generated(config, ICON, abs_src_path=icon))
    config.nav = expanded(config.nav or [], sorted(file.src_uri for file in files))
    return files


def on_page_markdown(markdown: str, page: Page, **_given: Any) -> None:
    """Lets what games need come first in the search."""
    if page.file.src_uri.startswith(FOR_DEVELOPERS):
        page.meta["search"] = {"boost": 0.2}


def _add(files: Files, config: MkDocsConfig, name: str, text: str) -> None:
    files.append(File.generated(config, f"{FOLDER}/{name}", content=text))


def expanded(navigation: list[Any], paths: list[str]) -> list[Any]:
    """The navigation with each pattern replaced by the pages it names, each page once.

    Strings in lists are patterns, such as "decisions/*.md"; titles and sections stay.
    """
    seen: set[str] = set()

    def expand(entry: Any) -> list[Any]:
        if isinstance(entry, str):
            new = [path for path in paths if fnmatchcase(path, entry) and path not in seen]
            seen.update(new)
            return new
        return [
            {title: flat(inner) if isinstance(inner, list) else inner}
            for title, inner in entry.items()
        ]

    def flat(entries: list[Any]) -> list[Any]:
        return [found for entry in entries for found in expand(entry)]

    return flat(navigation)
