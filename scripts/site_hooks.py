"""Additions of `mkdocs build` to docs/: pages of the root, one page for each id, folders in the navigation.

Pages of the root (README.md as index.md) are linked with `docs/` in front, pages in docs/ with `../`: links are
rewritten to where the pages are in the site. reference/ids.md, one page of 400 kB, becomes one page for each id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from kafkactl.core.explanations import Explanation, explanations

ROOT: Final = Path(__file__).resolve().parents[1]
ROOT_PAGES: Final = {
    "README.md": "index.md",
    **{name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")},
}
IDS_PAGE: Final = "reference/ids.md"
FINDINGS: Final = "findings"
CATALOGUE: Final = f"{FINDINGS}/index.md"
# Links to what is in the tree and not in the site keep their text only.
_LINK: Final = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]+)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each folder in the navigation by its pages."""
    config.nav = [_expanded(entry) for entry in config.nav or ()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root and those of the ids, and leave out the page that has all ids."""
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    for page, text in finding_pages(explanations()).items():
        # A thousand entries would make every page's navigation 200 kB; the catalogue and the search lead to them.
        level = InclusionLevel.INCLUDED if page == CATALOGUE else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, page, content=text, inclusion=level))
    ids = files.get_file_from_path(IDS_PAGE)
    if ids is not None:
        files.remove(ids)
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Rewrite the links of a page to where their targets are in the site."""
    home = {site: source for source, site in ROOT_PAGES.items()}.get(page.file.src_uri)
    return rewritten_links(markdown, home or f"docs/{page.file.src_uri}", page.file.src_uri)


def rewritten_links(markdown: str, place: str, page: str) -> str:
    """Return the text of a page at `place` in the tree with links as they must be at `page` in the site."""
    return _LINK.sub(lambda match: _rewritten(match, place, page), markdown)


def finding_pages(entries: Mapping[str, Explanation]) -> dict[str, str]:
    """Return the page of each id, and the catalogue that leads to all of them, by their paths in the site."""
    pages = {f"{FINDINGS}/{entry.id}.md": "\n".join(_finding_page(entry)) for entry in entries.values()}
    return {CATALOGUE: "\n".join(_catalogue(entries)), **pages}


def _finding_page(entry: Explanation) -> Iterator[str]:
    # The title is the id as it is printed, so that a search for it finds this page first.
    yield from ("---", f"title: {entry.id}", "search:", "  boost: 2", "---", f"# {entry.id}", "", entry.cause, "")
    yield from ("## Consequence", "", entry.consequence, "", "## Remedy", "", entry.remedy, "")
    yield from (f"Print this entry: `kafkactl explain {entry.id}`. [All errors and findings](index.md)", "")


def _catalogue(entries: Mapping[str, Explanation]) -> Iterator[str]:
    yield from ("# Errors and findings", "")
    yield "Every error and finding has an id. `kafkactl explain ID` prints its entry."
    ordered = sorted(entries.values(), key=lambda entry: entry.id)
    for letter, group in groupby(ordered, key=lambda entry: entry.id[0].upper()):
        yield from ("", f"## {letter}", "", "| id | cause |", "|---|---|")
        for entry in group:
            yield f"| [{entry.id}]({entry.id}.md) | {_first_sentence(entry.cause)} |"
    yield ""


def _first_sentence(text: str) -> str:
    """Return the text up to the first full stop that ends a sentence, as a cell of a table."""
    sentence = re.split(r"(?<=[.?])\s+(?=[A-Z`])", text, maxsplit=1)[0]
    return sentence.replace("|", "\\|").replace("\n", " ")


def _expanded(entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    ((title, target),) = entry.items()
    if isinstance(target, list):
        return {title: [_expanded(part) for part in target]}
    if target == f"{FINDINGS}/":
        return {title: CATALOGUE}
    if isinstance(target, str) and target.endswith("/"):
        return {
            title: [
                path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs" / target).glob("*.md"))
            ]
        }
    return entry


def _rewritten(match: re.Match[str], place: str, page: str) -> str:
    target, anchor, text = match["target"], match["anchor"] or "", match["text"]
    if not target or "://" in target:
        return match[0]
    in_tree = normpath(f"{dirname(place)}/{target}".lstrip("/"))
    if in_tree == f"docs/{IDS_PAGE}":
        in_site = f"{FINDINGS}/{anchor[1:]}.md" if anchor else CATALOGUE
        anchor = ""
    elif in_tree in ROOT_PAGES:
        in_site = ROOT_PAGES[in_tree]
    elif in_tree.startswith("docs/") and (ROOT / in_tree).is_dir():
        in_site = sorted((ROOT / in_tree).glob("*.md"))[0].relative_to(ROOT / "docs").as_posix()
    elif in_tree.startswith("docs/"):
        in_site = in_tree.removeprefix("docs/")
    else:
        return text
    return f"{match['picture']}[{text}]({relpath(in_site, dirname(page) or '.')}{anchor})"
