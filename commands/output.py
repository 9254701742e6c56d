"""The only place that knows formats: how an answer, an error and talk reach the operator.

stdout is data, stderr is talk. A command builds one payload of plain values and calls `emit`; the table is drawn from
the same payload by the function that the command gives.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, NoReturn, TextIO

import click

from kafkactl.commands import plain
from kafkactl.commands.deadline import stop_clock
from kafkactl.commands.page import Page, Word
from kafkactl.commands.settings import SCHEMA_VERSION, Settings, current_settings
from kafkactl.errors import FailedError

Render = Callable[[Page, Mapping[str, Any]], None]


def emit(
    kind: str,
    payload: Mapping[str, Any],
    *,
    render: Render,
    exit_code: int = 0,
    listing: str | None = None,
) -> NoReturn:
    """Print the answer in the format that was asked for, and end the command with this exit code.

    `payload` holds what stands beside `kind` and `schema_version`; values may be enums, tuples, or have `to_dict()`.
    `render(page, payload)` fills the page for people. `listing` names the list in the payload whose items `jsonl`
    prints one a line; the findings beside it are none of them and go to stderr.
    """
    stop_clock()
    settings = current_settings()
    answer = {"kind": kind, "schema_version": SCHEMA_VERSION, **plain_values(payload)}
    if settings.output == "table":
        page = Page()
        render(page, answer)
        _show(page, settings)
    elif settings.output == "jsonl" and listing is not None:
        _write(sys.stdout, "".join(serialised(item, "jsonl") for item in _each(answer, listing)))
        if listing != "findings":
            tell_findings(answer.get("findings", []))
    else:
        _write(sys.stdout, serialised(answer, settings.output))
    raise click.exceptions.Exit(exit_code)


def tell_findings(findings: Sequence[Mapping[str, Any]]) -> None:
    """Findings beside a listing, one a line on stderr: they are none of its objects, and must not be lost."""
    lines = (serialised({"kind": "finding", "schema_version": SCHEMA_VERSION, **one}, "jsonl") for one in findings)
    _write(sys.stderr, "".join(lines))


def say(text: str, tone: str = "plain") -> None:
    """Talk: a line on stderr, unless `--quiet`."""
    settings = current_settings()
    if not settings.quiet:
        _write(sys.stderr, plain.paint(Word(text, tone), color=settings.colors(sys.stderr)) + "\n")


def detail(text: str) -> None:
    """Talk that only `--verbose` wants to hear."""
    if current_settings().verbose:
        say(text, "dim")


def plain_values(value: Any) -> Any:
    """The value in JSON's types: enums by their value, tuples as lists, objects by their `to_dict()`."""
    if value is None or isinstance(value, bool) or type(value) in (str, int, float):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if hasattr(value, "to_dict"):
        return plain_values(value.to_dict())
    raise TypeError(f"{type(value).__name__} has no place in an answer")


def _each(answer: Mapping[str, Any], listing: str) -> list[dict[str, Any]]:
    return [{"kind": answer["kind"], "schema_version": SCHEMA_VERSION, **item} for item in answer[listing]]


def serialised(item: Mapping[str, Any], output: str) -> str:
    """One object as text in a format that is not the table."""
    if output == "yaml":
        return _yaml(item)
    return json.dumps(item, indent=2 if output == "json" else None, ensure_ascii=_ascii_only(item)) + "\n"


def _yaml(item: Mapping[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(item, sort_keys=False, allow_unicode=True, explicit_start=True, width=10_000)
    return text


def _ascii_only(item: Mapping[str, Any]) -> bool:
    """File names may hold bytes that are no text (PEP 383); those, and only those, are written as escapes."""
    if "utf" not in (sys.stdout.encoding or "").lower():
        return True
    return "\\ud" in json.dumps(item).lower()


def _show(page: Page, settings: Settings) -> None:
    color = settings.colors(sys.stdout)
    if sys.stdout.isatty():
        from kafkactl.commands import terminal

        terminal.show(page, sys.stdout, color=color)
        sys.stdout.flush()
    else:
        _write(sys.stdout, plain.render(page, color=color))


def write_data(data: bytes) -> bool:
    """Bytes to stdout as they are, for answers that are too long to be held; False when nobody reads them any more.

    Raises FailedError `output-not-written`.
    """
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        return False
    except OSError as error:
        _silence(sys.stdout)
        raise _not_written(sys.stdout, error) from error
    return True


def _write(stream: TextIO, text: str) -> None:
    """Write and flush. Whoever stopped reading (`| head`) does not change how the command ended."""
    encoding = stream.encoding or "utf-8"
    safe = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        stream.write(safe)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except OSError as error:
        _silence(stream)
        raise _not_written(stream, error) from error


def _not_written(stream: TextIO, error: OSError) -> FailedError:
    return FailedError(
        f"the answer could not be written to {stream.name}: {error.strerror}",
        id="output-not-written",
        next_step="Make room, or send the answer to another place, and look at what is there before running a change "
        "again: only the answer is missing, not what was done.",
    )


def _silence(stream: TextIO) -> None:
    """Point the stream at nothing, so that the interpreter does not fail to flush it on its way out."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
