"""Report of an exception that ended a command: one error object, or a few lines for people; never a secret."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import click

from kafkactl._version import SCHEMA_VERSION
from kafkactl.commands.framework.exit_codes import exit_code_of, has_too_many_digits
from kafkactl.commands.framework.settings import PROMETHEUS, Settings
from kafkactl.commands.rendering import plain_text
from kafkactl.commands.rendering.page import Word
from kafkactl.core.errors import KafkactlError
from kafkactl.core.remedies import remedy_of
from kafkactl.core.safe_text import visible, visible_lines

_USAGE_IDS: tuple[tuple[type[click.ClickException], str], ...] = (
    (click.MissingParameter, "missing-option"),
    (click.NoSuchOption, "unknown-option"),
    (click.BadOptionUsage, "bad-option-usage"),
    (click.BadParameter, "invalid-option-value"),
    (click.FileError, "unreadable-file"),
    (click.ClickException, "wrong-usage"),
)

_MOST_SHOWN = 10  # other reasons than the first: a file of another kind has a hundred, and hides the first
_NOTHING_SENT = ": nothing was sent that changes the cluster"


def report(error: BaseException, settings: Settings) -> int:
    """Print the error on stderr in the format that was asked for; the exit code it means.

    With `-o prometheus` the exit code is also a metric on stdout, so that an alert sees a command without an answer.
    """
    described = describe(error, settings.command, changes_cluster=settings.changes_cluster)
    from kafkactl.commands.rendering import output

    is_chosen = not (settings.is_default_output and sys.stderr.isatty())
    is_table = settings.output in ("table", PROMETHEUS) or not is_chosen
    text = _for_people(described, error, settings) if is_table else output.serialised(described, settings.output)
    if settings.verbose and described["id"] in ("internal-error", "plugin-failed"):
        text += "".join(map(_traced, traceback.format_exception(error)))
    output.write_talk(text)
    code = exit_code_of(error)
    if settings.output == PROMETHEUS and settings.command:
        from kafkactl.report.metrics import ending_text

        output.write_data(ending_text(settings.command, exit_code=code, ended_s=time.time()))
    return code


def describe(error: BaseException, command: str = "", *, changes_cluster: bool = False) -> dict[str, Any]:
    """Return the error object (docs/reference/kinds.md) for any exception that ended this command.

    `changes_cluster`: the command sends changes to a cluster; its interruption is reported with whether one was sent.
    """
    match error:
        case KafkactlError():
            return {key: _clean(value) for key, value in error.to_dict().items()}  # findings hold no secret
        case click.ClickException():
            return _object(error, _usage_id(error), error.format_message(), next_step=_help_hint(error))
        case KeyboardInterrupt() | click.Abort():
            text = f"`{f'kafkactl {command}'.rstrip()}` was interrupted"
            return _object(error, "interrupted", text + (_NOTHING_SENT if changes_cluster and not _has_sent() else ""))
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return _object(error, "operating-system-error", f"{where}{error.strerror or error}")
        case ValueError() if has_too_many_digits(error):
            return _object(error, "number-too-long", f"a number has more than {sys.get_int_max_str_digits()} digits")
        case _:
            return _object(
                error,
                "internal-error",
                f"{type(error).__name__}: {error}",
                cause="This is a bug in kafkactl, not a mistake of yours.",
                next_step="Run it again with -v and report what it prints, together with the command.",
            )


def _has_sent() -> bool:
    """Return True if a request that may have changed a cluster left this process."""
    from kafkactl.kafka.api.connection import has_sent_changes

    return has_sent_changes()


def redacted(text: str) -> str:
    """Return the text with everything that looks like a password left out."""
    from kafkactl.protocol.redact import redacted_text

    return redacted_text(text)


def _object(
    error: BaseException, id: str, message: str, *, cause: str | None = None, next_step: str | None = None
) -> dict[str, Any]:
    return {
        "kind": "error",
        "schema_version": SCHEMA_VERSION,
        "id": id,
        "message": _clean(message),
        "cause": cause,
        "next_step": next_step or remedy_of(id),
        "exit_code": exit_code_of(error),
        "findings": [],
    }


def _clean(value: Any) -> Any:
    return redacted(value) if isinstance(value, str) else value


def _usage_id(error: click.ClickException) -> str:
    if error.message.startswith("No such command"):
        return "unknown-command"
    return next(id for family, id in _USAGE_IDS if isinstance(error, family))


def _help_hint(error: click.ClickException) -> str | None:
    ctx = getattr(error, "ctx", None)
    return f"See `{ctx.command_path} --help`." if ctx else None


def _for_people(described: Mapping[str, Any], error: BaseException, settings: Settings) -> str:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return f"{described['message']}\n"
    color = settings.colors(sys.stderr)
    lines = _hanging("error:", "bad", _parts(described["message"], error), color)
    for name, value in (("cause", described["cause"]), ("try", described["next_step"])):
        if value:
            lines += _hanging(f"  {name:5}", "dim", [value], color)
    others = described["findings"][1:]
    shown = others if settings.verbose else others[:_MOST_SHOWN]
    for finding in shown:
        lines += _hanging(f"  {'also':5}", "dim", [f"{finding['id']}: {finding['message']}"], color)
    if len(shown) < len(others):
        lines += _hanging(f"  {'also':5}", "dim", [f"{len(others) - len(shown)} more, which -v shows"], color)
    if not isinstance(error, click.ClickException | click.Abort | KeyboardInterrupt):
        lines += _hanging(f"  {'more':5}", "dim", [f"kafkactl explain {described['id']}"], color)
    return "\n".join(lines) + "\n"


def _parts(message: str, error: BaseException) -> list[str]:
    """Return the lines of a message.

    Click breaks lines itself, to list choices; an inventory's problems take one each.
    """
    if isinstance(error, click.ClickException):
        return message.replace("\t", "    ").split("\n")
    more = [redacted(problem) for problem in getattr(error, "problems", ())[1:]]
    return [message.removesuffix("; ".join(["", *more])), *more] if more else [message]


def _traced(piece: str) -> str:
    """Return a piece of a traceback: the lines of a frame, or the exception, whose text may be foreign, in one line."""
    shown = redacted(piece)
    return visible_lines(shown) if piece.startswith("  File ") else visible(shown.strip("\n")) + "\n"


def _hanging(label: str, tone: str, texts: Sequence[str], color: bool) -> list[str]:
    """Return `label text`, wrapped under the text on a terminal, and only there: logs are searched by line."""
    parts = [visible(text) for text in texts]
    if sys.stderr.isatty():
        import shutil
        import textwrap

        width = max(20, shutil.get_terminal_size().columns - len(label) - 2)
        wrap = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        parts = [line for part in parts for line in wrap.wrap(part) or [""]]
    first, *rest = parts
    return [
        f"{plain_text.paint(Word(label, tone), color=color)} {first}",
        *(f"{'':{len(label)}} {line}" for line in rest),
    ]
