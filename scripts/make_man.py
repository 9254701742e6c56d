"""Writer of docs/man/ from the commands themselves: one page a command, for `man kafkactl-storage-format`. `make docs`.

The pages are made of the same help texts, options, examples and exit codes as docs/reference/commands.md. The wheel
carries them to share/man/man1.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from kafkactl._version import __version__
from kafkactl.commands.framework.exit_codes import MEANINGS
from kafkactl.commands.framework.help_text import option_record
from kafkactl.commands.framework.lazy_group import LazyGroup
from kafkactl.commands.framework.leaf import LeafCommand
from kafkactl.commands.framework.options import CommonOption, ConnectionOption
from scripts.make_reference import every_command

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "man"
CHANGELOG = FOLDER.parents[1] / "CHANGELOG.md"
_UNRELEASED = "2026-11-23"  # man pages have a date, and a version that is not released has none
_BREAK = "\\:"  # here a word may go on in the next line
_WIDTH = 70  # a hyphen takes two characters
GENERATED = '.\\" Made by scripts/make_man.py from the commands themselves; `make docs` writes it again.\n'


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    return {f"{name_of(ctx)}.1": _page(ctx, command) for ctx, command in every_command()}


def _date() -> str:
    """Return when this version was released, or the last change of what leads to it, by the changelog."""
    found = re.search(r"(?m)^## \S+ - (\d{4}-\d\d-\d\d)$", CHANGELOG.read_text(encoding="utf-8"))
    return found[1] if found else _UNRELEASED


def name_of(ctx: click.Context) -> str:
    """Return `kafkactl-storage-format`."""
    return ctx.command_path.replace(" ", "-")


def _page(ctx: click.Context, command: click.Command) -> str:
    lines = [
        GENERATED.rstrip("\n"),
        f'.TH {_quoted(name_of(ctx).upper())} 1 {_date()} {_quoted(f"kafkactl {__version__}")} "kafkactl manual"',
        ".nh",
        ".ad l",
        ".SH NAME",
        f"{_text(name_of(ctx))} \\- {_text(_summary(ctx, command))}",
        ".SH SYNOPSIS",
        ".nf",
        *_synopsis(ctx, command),
        ".fi",
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
    ]
    if isinstance(command, LeafCommand):
        lines += _options(ctx, command)
    if isinstance(command, LazyGroup):
        lines += _commands(ctx, command)
    lines += _examples(getattr(command, "examples", ()))
    if isinstance(command, LeafCommand):
        lines += _exit_status(command)
    lines += _see_also(ctx, command)
    return "\n".join(lines) + "\n"


def _summary(ctx: click.Context, command: click.Command) -> str:
    """Return the line of the table that lists the command; the root has none."""
    parent = ctx.parent.command if ctx.parent else None
    if isinstance(parent, LazyGroup):
        return parent.entries[str(ctx.info_name)].short_help.rstrip(".")
    return (command.help or "").strip().splitlines()[0].rstrip(".")


def _synopsis(ctx: click.Context, command: click.Command) -> Iterator[str]:
    words = [piece for param in command.get_params(ctx) for piece in param.get_usage_pieces(ctx)]
    options = ["[OPTIONS]"] if isinstance(command, LeafCommand) else ["[OPTIONS] COMMAND [ARGS]..."]
    if isinstance(command, LeafCommand) and isinstance(command, LazyGroup):
        yield f"\\fB{_text(ctx.command_path)}\\fR {_text('[OPTIONS]')}"
        options = ["COMMAND [ARGS]..."]
    yield f"\\fB{_text(ctx.command_path)}\\fR {_text(' '.join([*options, *words]))}"


def _options(ctx: click.Context, command: LeafCommand) -> Iterator[str]:
    """Yield sections as in the help: the command's own, those of connections, those of every command."""
    known = [param for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
    sections = {
        "OPTIONS": [option for option in known if not isinstance(option, CommonOption | ConnectionOption)],
        "CONNECTION OPTIONS": [option for option in known if isinstance(option, ConnectionOption)],
        "COMMON OPTIONS": [option for option in known if isinstance(option, CommonOption)],
    }
    for title, options in sections.items():
        records = [record for option in options if (record := option_record(option, ctx)) is not None]
        if records:
            yield f".SH {_quoted(title)}"
            yield from _definitions(records)


def _commands(ctx: click.Context, group: LazyGroup) -> Iterator[str]:
    yield ".SH COMMANDS"
    yield from _definitions((f"{name_of(ctx)}-{name}(1)", entry.short_help) for name, entry in group.entries.items())


def _definitions(records: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in records:
        yield ".TP"
        yield f"\\fB{_text(term).replace('|', '|' + _BREAK)}\\fR"
        yield from _filled(text or "See above.")


def _examples(examples: Iterable[str]) -> Iterator[str]:
    if examples:
        yield ".SH EXAMPLES"
        yield ".nf"
        yield from (_line(example) for example in examples)
        yield ".fi"


def _exit_status(command: LeafCommand) -> Iterator[str]:
    yield '.SH "EXIT STATUS"'
    yield from _definitions((str(code), f"{MEANINGS[code]}.") for code in command.codes)


def _see_also(ctx: click.Context, command: click.Command) -> Iterator[str]:
    around = [] if ctx.parent is None else [name_of(ctx.parent)]
    if not (isinstance(command, LeafCommand) and command.name == "explain"):
        around.append("kafkactl-explain")
    yield '.SH "SEE ALSO"'
    yield ", ".join(f"\\fB{_text(name)}\\fR(1)" for name in around)


def _paragraphs(help_text: str) -> Iterator[str]:
    """Split at blank lines; keep a paragraph that begins with click's mark of a fixed text line by line."""
    parts = [part for part in re.split(r"\n\s*\n", help_text.strip()) if part.strip()]
    for position, part in enumerate(parts):
        if position:
            yield ".PP"
        if part.startswith("\b"):
            yield ".nf"
            yield from (_line(line) for line in part.splitlines()[1:])
            yield ".fi"
        else:
            yield from _filled(part)


def _filled(text: str) -> Iterator[str]:
    """Yield one line of input a sentence, as the guides to man pages ask for."""
    words = " ".join(text.replace("\b", "").split())
    for sentence in re.split(r"(?<=[.?!]) (?=[A-Z`])", words):
        yield from map(_line, textwrap.wrap(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _line(text: str) -> str:
    """Return a line of text that roff does not read as a request, whatever it begins with."""
    escaped = _text(text)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _text(text: str) -> str:
    """Return words as roff reads them: a hyphen is a minus sign, so that an option can be searched for and copied."""
    return text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("^", "\\(ha").replace("~", "\\(ti")


def _quoted(text: str) -> str:
    return f'"{_text(text)}"'


def main() -> None:
    """Write the pages, and remove those that are no longer made."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = pages()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.1"):
        if path.name not in made:
            path.unlink()


if __name__ == "__main__":
    main()
