"""`index.html` of a bundle: what is in it, what is not and why, and what was found. One file, no script, no network.

The page has plain tables only and needs no template. Its style and its Content-Security-Policy are those of the other
reports.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kafkactl.core.data_files import read_data
from kafkactl.core.safe_text import visible
from kafkactl.core.wording import counted, size_text

_MOST_FINDINGS: Final = 50  # of a part; all are in its answer
_SEVERITIES: Final = ("blocker", "warning", "info")
_CODES: Final = {0: ("nothing wrong", "good"), 6: ("empty", "warn"), 7: ("problems found", "bad")}
_HEAD: Final = """<!DOCTYPE html>
<!-- written by kafkactl bundle -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
"""


def index_page(manifest: Mapping[str, Any], findings: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    """Return the page of a manifest (`Manifest.to_dict`), in UTF-8; `findings` are those of each part, by its name."""
    parts = manifest["parts"]
    missing = [part for part in parts if part["error"] is not None]
    tone, verdict = ("warn", "incomplete") if missing else ("good", "complete")
    title = f"Support bundle of {manifest['cluster_id'] or 'a cluster'}"
    pieces = [
        _HEAD,
        f"<title>{_text(title)}: {verdict}</title>\n<style>\n",
        read_data("report/page.css").decode("utf-8"),
        f"</style>\n</head>\n<body>\n<header>\n<h1>{_text(title)}</h1>\n",
        f'<p class="verdict v-{tone}"><strong>{verdict}</strong> ',
        f"<span>{len(parts) - len(missing)} of {counted(len(parts), 'part')} gathered</span></p>\n",
        *_facts(manifest),
        "</header>\n<main>\n",
        *_section("missing", "What could not be gathered", _missing(missing)),
        *_section("parts", "What was gathered", _parts(parts, findings)),
        *_section("findings", "What was found", _found(findings)),
        *_section("logs", "Metadata logs in this bundle", _logs(manifest["logs"])),
        *_section("members", "Files", _members(manifest["members"])),
        f"</main>\n<footer>\n<p>Written by kafkactl {_text(manifest['kafkactl_version'])}. Passwords, keys and the "
        "values of settings that Kafka does not define are left out.</p>\n</footer>\n</body>\n</html>\n",
    ]
    return "".join(pieces).encode("utf-8")


def _text(value: Any) -> str:
    return html.escape(visible(str(value)))


def _section(anchor: str, title: str, body: Iterable[str]) -> Iterator[str]:
    pieces = list(body)
    if pieces:
        yield f'<section id="{anchor}">\n<h2>{title}</h2>\n'
        yield from pieces
        yield "</section>\n"


def _facts(manifest: Mapping[str, Any]) -> Iterator[str]:
    time = datetime.fromtimestamp(manifest["created_ms"] / 1000, UTC)
    rows = (
        ("cluster id", manifest["cluster_id"] or "not known, or several"),
        ("gathered", f"{time:%Y-%m-%d %H:%M:%S} UTC"),
        ("metadata logs", counted(len(manifest["logs"]), "log") if manifest["logs"] else "not included"),
    )
    yield "<dl>\n"
    for name, value in rows:
        yield f"<div><dt>{name}</dt><dd>{_text(value)}</dd></div>\n"
    yield "</dl>\n"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table of cells that are HTML already."""
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{title}">\n<table>\n<thead><tr>{head}</tr></thead>'
    yield "\n<tbody>\n"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"


def _missing(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from _list(
        {**part["error"], "severity": "warning", "subject": f"{part['name']}: {part['about']}"} for part in parts
    )


def _parts(parts: Sequence[Mapping[str, Any]], findings: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    def row(part: Mapping[str, Any]) -> tuple[str, ...]:
        words, tone = _CODES.get(part["exit_code"], (str(part["exit_code"]), "plain"))
        severities = [finding["severity"] for finding in findings.get(part["name"], ())]
        counts = ", ".join(
            counted(severities.count(severity), severity) for severity in _SEVERITIES[:2] if severity in severities
        )
        links = [f'<a href="{_text(path)}">{_text(path)}</a>' for path in part["members"][:3]]
        more = len(part["members"]) - len(links)
        files = "<br>".join([*links, *([f"and {more} more"] if more else [])])
        return _text(part["name"]), _text(part["about"]), f'<span class="w-{tone}">{words}</span>', counts, files

    gathered = [part for part in parts if part["error"] is None]
    yield from _table("Parts", ("part", "about", "judged", "findings", "files"), map(row, gathered))


def _found(findings: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    for name, found in findings.items():
        weighty = sorted(
            (finding for finding in found if finding["severity"] in _SEVERITIES[:2]),
            key=lambda finding: _SEVERITIES.index(finding["severity"]),
        )
        if weighty:
            yield f"<h3>{_text(name)}</h3>\n"
            yield from _list(weighty[:_MOST_FINDINGS])
            if len(weighty) > _MOST_FINDINGS:
                yield f'<p class="more">and {len(weighty) - _MOST_FINDINGS} more in its answer</p>\n'


def _list(findings: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    items = list(findings)
    if not items:
        return
    yield '<ul class="findings">\n'
    for finding in items:
        severity = finding["severity"]
        yield f'<li class="finding {severity}">\n<p class="head"><span class="severity">{severity}</span> '
        yield f'<code>{_text(finding["id"])}</code> <span class="subject">{_text(finding["subject"])}</span></p>\n'
        yield f"<p>{_text(finding['message'])}</p>\n"
        if finding["next_step"]:
            yield f'<p class="next">→ {_text(finding["next_step"])}</p>\n'
        yield "</li>\n"
    yield "</ul>\n"


def _logs(logs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if logs:
        rows = (
            (
                _text(log["folder"]),
                _text(log["source"]),
                _text(log["cluster_id"] or ""),
                "<br>".join(f"{_text(what.replace('_', ' '))}: {count}" for what, count in log["replaced"].items())
                or "nothing",
            )
            for log in logs
        )
        yield from _table("Metadata logs", ("folder", "log of", "cluster", "replaced"), rows)


def _members(members: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = (
        (
            f'<a href="{_text(member["path"])}">{_text(member["path"])}</a>',
            size_text(member["size"]),
            f"<code>{member['sha256']}</code>",
        )
        for member in members
    )
    yield from _table("Files", ("file", "size", "SHA-256"), rows)
