"""Checks of pages that kafkactl writes: sound HTML in which nothing runs or loads."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from kafkactl.core.data_files import read_data

EMPTY_ELEMENTS = {"meta", "link", "br", "hr", "img"}


class Reader(HTMLParser):
    """Checks a page: every element is closed in its order, no two have one id."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in EMPTY_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: bytes) -> Reader:
    reader = Reader()
    reader.feed(page.decode("utf-8"))
    reader.close()
    assert reader.open == []
    ids = [found["id"] for _, found in reader.seen if "id" in found]
    assert len(ids) == len(set(ids))
    for _, found in reader.seen:
        for name in found.get("aria-labelledby", "").split():
            assert name in ids
    return reader


def assert_nothing_runs_or_loads(page: bytes, reader: Reader) -> None:
    tags = {tag for tag, _ in reader.seen}
    assert not tags & {"iframe", "img", "object", "embed", "form", "base", "image", "use", "foreignobject"}
    for tag, found in reader.seen:
        assert not [name for name in found if name.startswith("on")], tag
        for name in ("href", "src", "xlink:href", "action"):
            assert (found.get(name) or "#").startswith(("#", "data:,")), (tag, found)
    assert b"url(" not in page and b"@import" not in page
    assert b"default-src 'none'" in page
    # One script, ours, and the policy of the page runs no other.
    script = read_data("report/page.js")
    assert [found for tag, found in reader.seen if tag == "script"] == [{}]
    assert page.count(b"<script>" + script + b"</script>\n</body>") == 1
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    assert re.findall(rb"script-src ([^\"]*)\"", page) == [f"'sha256-{digest}'".encode()]
