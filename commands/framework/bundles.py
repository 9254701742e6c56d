"""`--bundle FILE`: a support bundle in place of disks or a cluster.

@leaf_command("lint", ...)
@bundle_option
def command(*, bundle: str | None) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkactl.commands.framework.options import PATH

if TYPE_CHECKING:
    from kafkactl.bundle.api.reading import OpenBundle
    from kafkactl.core.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
Held = TypeVar("Held")
Value = TypeVar("Value")
BUNDLE = "--bundle"


def bundle_option(function: Function) -> Function:
    """Add `--bundle FILE`: parameter `bundle`."""
    text = "Read from a support bundle (kafkactl bundle) instead."
    return click.option(BUNDLE, metavar="FILE", type=PATH, help=text)(function)


def until_the_end(context: AbstractContextManager[Held]) -> Held:
    """Keep the value of a context until the command ends; then its local files are removed."""
    return click.get_current_context().with_resource(context)


def stored(path: str, part: str) -> tuple[dict[str, Any], int]:
    """Return the answer of a part of a bundle, as its command printed it, and the exit code of that command.

    Raises as `open_bundle`, InputError `bundle-without-part`, and `invalid-bundle` for an answer of another shape.
    """
    from kafkactl.bundle.api.reading import open_bundle, stored_answer

    with open_bundle(path) as bundle:
        answer, code = stored_answer(bundle, part)
        return checked(bundle, answer, part), code


def stored_as(read: Callable[[Mapping[str, Any]], Value], path: str, part: str) -> tuple[Value, dict[str, Any], int]:
    """Return a part of a bundle as the value that `read` makes of its answer, and the result of `stored`.

    The value is for the page. The printed JSON is the saved answer, with all fields that a newer kafkactl wrote into
    it. Raises as `stored`.
    """
    answer, code = stored(path, part)
    try:
        return read(answer), answer, code
    except ValueError as error:
        raise _of_another_structure(path, part) from error


def checked(bundle: OpenBundle, answer: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the fields of an answer in a bundle, which has the shape that is published for its kind.

    Raises InputError `invalid-bundle`, `bundle-too-new`.
    """
    from kafkactl._version import SCHEMA_VERSION
    from kafkactl.core.answer_kinds import has_published_shape
    from kafkactl.core.errors import InputError

    version = answer.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        text = f"the bundle {bundle.path} has {kind} in schema version {version}; this kafkactl reads {SCHEMA_VERSION}"
        raise InputError(text, id="bundle-too-new")
    if not has_published_shape(kind, answer):
        raise _of_another_structure(bundle.path, kind)
    return {name: value for name, value in answer.items() if name not in ("kind", "schema_version")}


def _of_another_structure(path: str, kind: str) -> InputError:
    from kafkactl.core.errors import InputError

    return InputError(
        f"the answer {kind} in the bundle {path} does not have its published structure", id="invalid-bundle"
    )
