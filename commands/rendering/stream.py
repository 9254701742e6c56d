"""Records on stdout one by one, in any of the formats, without holding them: a log has millions of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafkactl._version import SCHEMA_VERSION
from kafkactl.commands.framework.deadline import stop_clock
from kafkactl.commands.framework.settings import current_settings
from kafkactl.core.safe_text import json_text, visible

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding

_COLUMNS = ("OFFSET", "EPOCH", "TIME", "TYPE", "CONTENT")


class RecordStream:
    """Writer of records as they come. `jsonl` is one a line and no envelope; the others show the findings at the end.

    `takes_text` says that lines of JSON are requested as they are, else values. `table` is the title of a table and
    what makes a line of a record, both with their line end; without it lines are those of a metadata log.
    """

    def __init__(self, kind: str, *, table: tuple[str, Callable[[Mapping[str, Any]], str]] | None = None) -> None:
        self._kind = kind
        self._title, self._line = table or (_row(_COLUMNS), _table)
        self._settings = current_settings()
        self.takes_text = self._settings.output == "jsonl"
        self._form = _FORMS.get(self._settings.output)
        self._count = 0
        self._closed = False

    def write(self, text: str) -> bool:
        """Print text that is safe to show; False when its reader has gone (`| head`)."""
        return self.write_bytes(text.encode("utf-8"))

    def write_bytes(self, data: bytes) -> bool:
        """Write a part that is UTF-8 already; return False when its reader has gone."""
        from kafkactl.commands.rendering import output

        if not self._closed:
            self._closed = not output.write_bytes(data)
        return not self._closed

    def write_record(self, record: Mapping[str, Any]) -> bool:
        """Print one record in the format that was asked for; False as in `write`."""
        text = self._head() if self._count == 0 else ""
        self._count += 1
        return self.write(text + (self._line(record) if self._form is None else self._form(record, self._count)))

    def _head(self) -> str:
        if self._settings.output == "json":
            return f'{{"kind": "{self._kind}", "schema_version": {SCHEMA_VERSION}, "records": [\n'
        if self._settings.output == "yaml":
            return f"---\nkind: {self._kind}\nschema_version: {SCHEMA_VERSION}\nrecords:\n"
        if self._settings.output == "table":
            return self._title
        return ""

    def end(self, findings: Sequence[Finding], exit_code: int) -> NoReturn:
        """Print what was found and end the command with this code."""
        stop_clock()
        shown = [finding.to_dict() for finding in findings]
        if not self._closed:
            _ENDS[self._settings.output](self, shown)
        raise click.exceptions.Exit(exit_code)

    def end_json(self, findings: list[dict[str, Any]]) -> None:
        """Close the object."""
        head = "" if self._count else self._head()
        self.write(f'{head}\n], "findings": {json_text(findings)}}}\n')

    def end_yaml(self, findings: list[dict[str, Any]]) -> None:
        """Close the document."""
        from kafkactl.commands.rendering.output import yaml_text

        head = "" if self._count else self._head().rstrip("\n") + " []\n"
        self.write(head + yaml_text({"findings": findings}))

    def end_table(self, findings: list[dict[str, Any]]) -> None:
        """Print findings for people, after the records."""
        from kafkactl.commands.rendering import plain_text
        from kafkactl.commands.rendering.page import Page

        page = Page()
        page.findings(findings)
        text = plain_text.render(page, color=self._settings.colors(sys.stdout))
        if text:
            self.write(f"\n{text}" if self._count else text)

    def end_jsonl(self, findings: list[dict[str, Any]]) -> None:
        """Print findings on stderr, one a line: findings are not records."""
        from kafkactl.commands.rendering.output import tell_findings

        tell_findings(findings)


def _json(record: Mapping[str, Any], count: int) -> str:
    return (",\n" if count > 1 else "") + json_text(record)


def _yaml(record: Mapping[str, Any], _count: int) -> str:
    from kafkactl.commands.rendering.output import yaml_text

    return yaml_text([record])


def _table(record: Mapping[str, Any]) -> str:
    data = record["data"]
    content = record["error"]["message"] if data is None else content_of(data)
    kind = record["type"] or record["kind"]
    offset = str(record["offset"])
    place = f"({offset})" if record["file"].endswith(".checkpoint") else offset  # it is not one of the log
    return _row((place, record["epoch"], time_text(record["timestamp_ms"]), kind, content))


def content_of(data: Mapping[str, Any]) -> str:
    """Return the fields of a record in one line."""
    return " ".join(f"{name}={_value(value)}" for name, value in data.items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value if value and value.isprintable() and " " not in value else json_text(value)
    return json_text(value, compact=True)


def time_text(timestamp_ms: int) -> str:
    """Return a time as people read it, in UTC; the bare number if it is none of this world."""
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)


def _row(cells: Sequence[object]) -> str:
    offset, epoch, time, kind, content = cells
    return visible(f"{offset:>9}  {epoch:>5}  {time:<23}  {kind:<30}  {content}".rstrip()) + "\n"


def _jsonl(record: Mapping[str, Any], _count: int) -> str:
    return json_text(record, compact=True) + "\n"


_FORMS = {"json": _json, "jsonl": _jsonl, "yaml": _yaml}
_ENDS = {
    "json": RecordStream.end_json,
    "yaml": RecordStream.end_yaml,
    "table": RecordStream.end_table,
    "jsonl": RecordStream.end_jsonl,
}
