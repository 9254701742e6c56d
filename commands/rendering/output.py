"""The only place that knows formats and writes: how an answer, an error and talk reach the operator.

All output is cleaned (`kafkactl.core.safe_text`): the text of a page when it is put on the page, all other text here.

stdout is data, stderr is progress. A command gives one answer to `emit`: JSON is made of it by its `to_dict`, and the
table by the function that the command gives.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Protocol, TextIO, TypeVar, cast

import click

from kafkactl._version import SCHEMA_VERSION
from kafkactl.commands.framework.deadline import paused, stop_clock
from kafkactl.commands.framework.settings import PROMETHEUS, Settings, current_settings
from kafkactl.commands.rendering import plain_text
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.answers import plain_values
from kafkactl.core.errors import FailedError
from kafkactl.core.safe_text import escaped_yaml, is_unsafe, json_text, visible


class Answer(Protocol):
    """Result of an operation; `to_dict` is the published JSON."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return the fields next to `kind` and `schema_version`."""
        ...


Given = TypeVar("Given", bound=Answer | Mapping[str, Any])
Render = Callable[[Page, Mapping[str, Any]], None]
_WIPE = "\r\x1b[K"  # to the begin of the line, and clear it


def emit(
    kind: str,
    payload: Given,
    *,
    render: Callable[[Page, Given], None],
    exit_code: int = 0,
    listing: str | None = None,
) -> NoReturn:
    """Print the answer in the format that was asked for, and end the command with this exit code.

    `payload` is the answer of an operation, or a mapping whose values may be enums, tuples, or have `to_dict()`.
    `render(page, payload)` fills the page for people: it gets an answer as it is, and of a mapping the JSON. `listing`
    names the list in the JSON whose items `jsonl` prints one a line; other findings go to stderr.
    """
    stop_clock()
    settings = current_settings()
    if settings.output == "table":
        _show(drawn(kind, payload, render), settings)
        raise click.exceptions.Exit(exit_code)
    answer = json_answer(kind, payload)
    if settings.output == PROMETHEUS:
        from kafkactl.report.metrics import metrics_text

        _write(sys.stdout, metrics_text(answer, exit_code=exit_code, ended_s=time.time()))
    elif settings.output == "jsonl" and listing is not None:
        _write(sys.stdout, "".join(serialised(item, "jsonl") for item in _each(answer, listing)))
        if listing != "findings":
            tell_findings(answer.get("findings", []))
    else:
        _write(sys.stdout, serialised(answer, settings.output))
    raise click.exceptions.Exit(exit_code)


def json_answer(kind: str, payload: Answer | Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole JSON of an answer."""
    return {"kind": kind, "schema_version": SCHEMA_VERSION, **plain_values(payload)}


def drawn(kind: str, payload: Given, render: Callable[[Page, Given], None]) -> Page:
    """Return the page of an answer."""
    page = Page()
    render(page, cast("Given", json_answer(kind, payload)) if isinstance(payload, Mapping) else payload)
    return page


def tell_findings(findings: Sequence[Mapping[str, Any]]) -> None:
    """Print findings of a listing, one a line on stderr: findings are none of its objects, and must not be lost."""
    lines = (
        serialised({"kind": "finding", "schema_version": SCHEMA_VERSION, **finding}, "jsonl") for finding in findings
    )
    _write(sys.stderr, "".join(lines))


def say(text: str, tone: str = "plain") -> None:
    """Print a line on stderr, unless `--quiet`."""
    settings = current_settings()
    if not settings.quiet:
        _write(sys.stderr, plain_text.paint(Word(visible(text), tone), color=settings.colors(sys.stderr)) + "\n")


def detail(text: str) -> None:
    """Print progress that is shown only with `--verbose`."""
    if current_settings().verbose:
        say(text, "dim")


def _each(answer: Mapping[str, Any], listing: str) -> list[dict[str, Any]]:
    return [{"kind": answer["kind"], "schema_version": SCHEMA_VERSION, **item} for item in answer[listing]]


def serialised(item: Mapping[str, Any], output: str) -> str:
    """Return one object as text in a format other than the table."""
    if output == "yaml":
        return "---\n" + yaml_text(item)
    return json_text(item, indent=2 if output == "json" else None, ascii_only=not _takes_utf8()) + "\n"


def yaml_text(item: Any) -> str:
    """Return YAML; a text with an unsafe character is in double quotes, with that character as an escape."""
    import yaml

    return escaped_yaml(yaml.dump(item, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=10_000))


@functools.cache
def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        """The standard representers, but for texts; those of the library itself stay as they are."""

    def represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if is_unsafe(text) else None)

    Dumper.add_representer(str, represented)
    return Dumper


def _takes_utf8() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()


def _show(page: Page, settings: Settings) -> None:
    color = settings.colors(sys.stdout)
    if sys.stdout.isatty():
        from kafkactl.commands.rendering import terminal

        terminal.show(page, sys.stdout, color=color)
        sys.stdout.flush()
    else:
        _write(sys.stdout, plain_text.render(page, color=color))


def write_data(text: str) -> bool:
    """Write a part of an answer that is too long to be held, safe to show; return False when its reader has gone.

    Raises FailedError `output-not-written`.
    """
    return write_bytes(text.encode("utf-8"))


def write_bytes(data: bytes) -> bool:
    """Write a part that is UTF-8 already; return False when its reader has gone."""
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


def show_line(text: str) -> None:
    """Show one line of a gradual answer to a person at a terminal."""
    _write(sys.stdout, visible(text) + "\n")


def show_part(page: Page) -> None:
    """Show a part of a gradual answer to a person."""
    _show(page, current_settings())


def write_talk(text: str) -> None:
    """Write lines on stderr that are made and cleaned already: a drawn page, an error."""
    _write(sys.stderr, text)


def talk_page(page: Page) -> None:
    """Show a page on stderr, before the answer."""
    color = current_settings().colors(sys.stderr)
    if sys.stderr.isatty():
        from kafkactl.commands.rendering import terminal

        terminal.show(page, sys.stderr, color=color)
        sys.stderr.flush()
    else:
        write_talk(plain_text.render(page, color=color))


def write_passing(text: str) -> None:
    """Write one line on a terminal's stderr in the place of the last; the next line replaces it."""
    import shutil

    _write(sys.stderr, f"{_WIPE}{visible(text)[: shutil.get_terminal_size().columns - 1]}")


def wipe_passing() -> None:
    """Take the passing line away."""
    _write(sys.stderr, _WIPE)


def agreed(question: str) -> bool:
    """Ask a person yes or no, on stderr. Raises click.Abort."""
    return click.confirm(visible(question), err=True)


def answer_to(lines: Sequence[str]) -> str:
    """Ask a person for a text, on stderr. Raises click.Abort."""
    text: str = click.prompt("\n".join(map(visible, lines)), err=True)
    return text


def asked(prompt: str) -> str:
    """Return the next line that a person at a terminal types. Raises EOFError, KeyboardInterrupt."""
    return input(visible(prompt))


def wait_for_enter(prompt: str) -> None:
    """Wait until a person presses Enter; the time limit does not run meanwhile. Raises click.Abort at Ctrl-D."""
    with paused():
        try:
            input(visible(prompt))
        except EOFError:
            raise click.Abort from None


def _write(stream: TextIO, text: str) -> None:
    """Write and flush. A reader that is gone (`| head`) does not change how the command ended."""
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
    """Redirect the stream to the null device, so that the interpreter does not fail to flush it at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
