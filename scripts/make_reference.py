"""Writer of docs/reference/ from the commands themselves: `make docs`. A repository test compares the two."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from kafkactl.commands.framework.exit_codes import MEANINGS
from kafkactl.commands.framework.lazy_group import LazyGroup
from kafkactl.commands.framework.leaf import LeafCommand
from kafkactl.commands.framework.options import CommonOption, ConnectionOption
from kafkactl.commands.main import CONTEXT, PROGRAM, cli
from kafkactl.core.answer_kinds import answer_kinds, answer_schema
from kafkactl.core.explanations import explanations
from kafkactl.report.metrics import Metric, metrics
from scripts import make_api

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
GENERATED = "<!-- Made by scripts/make_reference.py from the commands themselves; `make docs` writes it again. -->\n"


@functools.cache
def every_command() -> tuple[tuple[click.Context, click.Command], ...]:
    """Return all groups and commands, each with a context that knows its full name, in the order of the tables."""
    return tuple(_below(click.Context(cli, info_name=PROGRAM, **CONTEXT)))


def _below(ctx: click.Context) -> Iterator[tuple[click.Context, click.Command]]:
    yield ctx, ctx.command
    if isinstance(ctx.command, LazyGroup):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            yield from _below(click.Context(command, info_name=name, parent=ctx))


def _commands_page() -> str:
    parts = [GENERATED, "# Commands\n", _common_section()]
    for ctx, command in every_command():
        if isinstance(command, LeafCommand):
            parts.append("\n".join(_command_section(ctx, command)))
    return "\n".join(parts)


def _common_section() -> str:
    return "\n".join(
        [
            "Every command takes these options. The command line takes precedence over the environment.\n",
            *_options_of_kind(CommonOption),
            "",
            *_connection_section(),
        ]
    )


def _connection_section() -> list[str]:
    rows = _options_of_kind(ConnectionOption)
    text = (
        "Commands that connect to a cluster accept these options before or after the verb. The command line\n"
        "takes precedence over the environment, and both over a context.\n"
    )
    return ["## Connection options\n", text, *rows, ""] if rows else []


def _options_of_kind(kind: type[click.Option]) -> list[str]:
    """Return the table of the options of this kind, as the first command that has them describes them."""
    for ctx, command in every_command():
        options = [param for param in command.get_params(ctx) if isinstance(param, kind)]
        if options and isinstance(command, LeafCommand):
            return _table(
                ("option", "what it does", "environment"), [_option_row(option, option.envvar) for option in options]
            )
    return []


def _command_section(ctx: click.Context, command: LeafCommand) -> Iterator[str]:
    yield f"## {ctx.command_path}\n"
    yield f"    {command.get_usage(ctx).removeprefix('Usage: ')}\n"
    # Python keeps the indentation of a docstring before 3.13; Markdown would take it for code.
    yield inspect.cleandoc(command.help or "").replace("\b\n", "") + "\n"
    own = [
        param
        for param in command.params
        if isinstance(param, click.Option)
        and not isinstance(param, CommonOption | ConnectionOption)
        and not param.hidden
    ]
    if own:
        rows = [_option_row(option, f"{ctx.auto_envvar_prefix}_{(option.name or '').upper()}") for option in own]
        yield from _table(("option", "what it does", "environment"), rows)
        yield ""
    if any(isinstance(param, ConnectionOption) for param in command.params):
        yield "Takes the [connection options](#connection-options).\n"
    yield "Examples:\n"
    yield from (f"    {example}" for example in command.examples)
    yield ""
    yield f"Exit codes: {', '.join(f'{code} ({MEANINGS[code]})' for code in command.codes)}.\n"


def _option_row(option: click.Option, variable: object) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" `{option.make_metavar(click.Context(click.Command('x')))}`"
    default = f" Default: `{option.default}`." if option.show_default and option.default is not None else ""
    required = " Required." if option.required else ""
    repeats = " Repeatable." if option.multiple else ""
    return f"{names}{value}", f"{option.help or ''}{required}{repeats}{default}".strip(), f"`{variable}`"


def _exit_codes_page() -> str:
    rows = [(str(code), meaning) for code, meaning in MEANINGS.items()]
    text = (
        "One table for all commands. A refusal (3) and a check that found problems (7) are answers: the command's own\n"
        "object is on stdout. Where there is no answer, stderr has one error object under `-o json`.\n\n"
        "A command is interrupted (130) by Ctrl-C, by SIGTERM, and by SIGHUP of a terminal that is closed; a SIGHUP\n"
        "that is ignored (`nohup`) stays ignored.\n"
    )
    return "\n".join([GENERATED, "# Exit codes\n", text, *_table(("code", "meaning"), rows), ""])


def _ids_page() -> str:
    text = "Every error and finding carries an id; `kafkactl explain ID` prints its entry.\n"
    parts = [GENERATED, "# Ids of errors and findings\n", text]
    for entry in explanations().values():
        parts.append(
            f"## {entry.id}\n\n{entry.cause}\n\n*Consequence.* {entry.consequence}\n\n*Remedy.* {entry.remedy}\n"
        )
    return "\n".join(parts)


def _kinds_page() -> str:
    text = "What commands print under `-o json`, `yaml` and `jsonl`; `kafkactl schema KIND` prints the JSON Schema.\n"
    parts = [GENERATED, "# Kinds of answers\n", text]
    for kind in answer_kinds():
        schema = answer_schema(kind)
        parts += [f"## {kind}\n", f"{schema['description']}\n", *_fields(schema), ""]
        for name, shape in schema.get("$defs", {}).items():
            if name != "Finding" and "properties" in shape:
                parts += [f"**{name}**: {shape.get('description', '')}\n", *_fields(shape), ""]
    return "\n".join(parts)


def _metrics_page() -> str:
    rows = [
        (f"`{metric.name}`", ", ".join(f"`{label}`" for label in metric.labels), metric.help, _command_of(metric))
        for metric in metrics()
    ]
    return "\n".join(
        [
            GENERATED,
            "# Metrics\n",
            "What `-o prometheus` prints, from schemas/metrics.toml. All are gauges. Every command also prints",
            "`kafkactl_exit_code`, `kafkactl_end_timestamp_seconds` and `kafkactl_findings` (labels `id`, `severity`),",
            "each with the label `command`.\n",
            *_table(("metric", "labels", "meaning", "command"), rows),
            "",
        ]
    )


def _command_of(metric: Metric) -> str:
    return f"`{metric.kind.replace('.', ' ')}`"


def _fields(schema: dict[str, object]) -> list[str]:
    properties = schema.get("properties")
    assert isinstance(properties, dict)
    rows = [(f"`{name}`", _type_of(field), field.get("description", "")) for name, field in properties.items()]
    return _table(("field", "type", "meaning"), rows)


def _type_of(field: dict[str, object]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{word}`" for word in field["enum"])  # type: ignore[attr-defined]
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(_type_of(item) for item in field["anyOf"])  # type: ignore[attr-defined]
    if field.get("type") == "array":
        return f"list of {_type_of(field.get('items') or {})}"  # type: ignore[arg-type]
    return str(field.get("type", "any"))


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    escaped = [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *(f"| {row} |" for row in escaped)]


PAGES: Final = {
    "api.md": make_api.page,
    "commands.md": _commands_page,
    "exit-codes.md": _exit_codes_page,
    "ids.md": _ids_page,
    "kinds.md": _kinds_page,
    "metrics.md": _metrics_page,
}
"""What makes the text of each page, by file name."""


def main() -> None:
    """Write the pages, and remove those that are no longer made."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
    for path in FOLDER.glob("*.md"):
        if path.name not in PAGES:
            path.unlink()


if __name__ == "__main__":
    main()
