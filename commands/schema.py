"""`kafkactl schema`: the JSON Schema of what a command prints (schemas/answers/)."""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypedDict

import click
from click.shell_completion import CompletionItem

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page
from kafkactl.core.answer_kinds import answer_kinds, answer_schema
from kafkactl.core.errors import InputError
from kafkactl.core.wording import did_you_mean


class Schema(TypedDict):
    """The answer `schema`."""

    title: str
    """The kind that the schema describes."""


class KnownKind(TypedDict):
    """A line of `schema --list`."""

    name: str
    about: str


class SchemaList(TypedDict):
    """The answer `schema.list`."""

    kinds: list[KnownKind]


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(kind) for kind in answer_kinds() if kind.startswith(incomplete)]


@leaf_command(
    "schema",
    examples=("kafkactl schema storage.format > storage.format.schema.json", "kafkactl schema --list"),
    codes=(0, 2),
)
@click.argument("kind", required=False, shell_complete=_complete)
@click.option("--list", "all_kinds", is_flag=True, help="List all kinds of answers.")
def command(kind: str | None, all_kinds: bool) -> None:
    """Print the JSON Schema of answers of this KIND, the word in their field `kind`."""
    if all_kinds == (kind is not None):
        raise click.UsageError("Give one KIND, or --list.")
    if kind is None:
        _tell_all()
    schema = json_schema(kind)

    def show(page: Page, _answer: object) -> None:
        # With -o json the answer is a JSON Schema too, with our two keywords; here it is bare.
        for line in json.dumps(schema, indent=2).splitlines():
            page.line(line)

    output.emit("schema", schema, render=show)


def _tell_all() -> NoReturn:
    rows = [(kind, answer_schema(kind)["description"]) for kind in answer_kinds()]
    output.emit(
        "schema.list",
        {"kinds": [{"name": name, "about": about} for name, about in rows]},
        render=lambda page, _: page.table(("kind", "what it is"), rows),
        listing="kinds",
    )


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of answer. Raise InputError `unknown-kind`."""
    kinds = answer_kinds()
    if kind not in kinds:
        raise InputError(f"there is no answer of the kind {kind!r}.{did_you_mean(kind, kinds)}", id="unknown-kind")
    return answer_schema(kind)
