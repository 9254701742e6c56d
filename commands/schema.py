"""`kafkactl schema`: the JSON Schema of what a command prints, made from the published models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.models import kinds
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page
from kafkactl.errors import InputError
from kafkactl.wording import did_you_mean

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(kind) for kind in kinds() if kind.startswith(incomplete)]


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
        rows = [
            {"name": name, "about": (model.__doc__ or "").strip().splitlines()[0]} for name, model in kinds().items()
        ]
        output.emit("schema.list", {"kinds": rows}, render=_show_all, listing="kinds")
    output.emit("schema", json_schema(kind), render=_show)


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind of answer. Raises InputError `unknown-kind`."""
    if kind not in kinds():
        raise InputError(f"there is no answer of the kind {kind!r}.{did_you_mean(kind, kinds())}", id="unknown-kind")
    schema: dict[str, Any] = kinds()[kind].model_json_schema()
    return {"$schema": DIALECT, "title": kind, **{key: value for key, value in schema.items() if key != "title"}}


def _show(page: Page, payload: Mapping[str, Any]) -> None:
    # With -o json the answer is a JSON Schema too, with our two keywords; here it is bare.
    bare = {key: value for key, value in payload.items() if key not in ("kind", "schema_version")}
    for line in json.dumps(bare, indent=2).splitlines():
        page.line(line)


def _show_all(page: Page, payload: Mapping[str, Any]) -> None:
    page.table(("kind", "what it is"), ((kind["name"], kind["about"]) for kind in payload["kinds"]))
