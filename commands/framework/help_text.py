"""Format of options in help: brackets in plain words, and lines that end between words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNBROKEN = "\N{NON-BREAKING HYPHEN}"
_NO_LIMIT = 2**30  # from this on, a largest value says nothing to a reader


class UnbrokenFormatter(click.HelpFormatter):
    """Lines do not end within `SCRAM-SHA-512` or `--scram-file`: such a word could neither be copied nor found."""

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(text.replace("-", _UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        """Write terms with their texts."""
        super().write_dl([(term, text.replace("-", _UNBROKEN)) for term, text in rows], *args, **kwargs)

    def getvalue(self) -> str:
        """Return the help, with the hyphens that were typed."""
        return super().getvalue().replace(_UNBROKEN, "-")


class HelpContext(click.Context):
    """The context of every command."""

    formatter_class = UnbrokenFormatter


def option_record(param: click.Parameter, ctx: click.Context) -> tuple[str, str] | None:
    """Return the names and the help text of a parameter, in the wording of kafkactl instead of click's."""
    record = param.get_help_record(ctx)
    if record is None or not isinstance(param, click.Option):
        return record
    extra = param.get_help_extra(ctx)
    words = (
        "required" if "required" in extra else "",
        "repeatable" if param.multiple else "",
        f"default: {extra['default']}" if "default" in extra else "",
        _range_words(param.type),
    )
    brackets = "; ".join(filter(None, words))
    return record[0], f"{param.help or ''}{f' [{brackets}]' if brackets else ''}".strip()


def _range_words(kind: click.ParamType[Any]) -> str:
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return ""
    least, most = kind.min, kind.max
    if most is None or most >= _NO_LIMIT:
        return f"at least {least}" if least else ""
    return f"{least} to {most}" if least is not None else f"at most {most}"
