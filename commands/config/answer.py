"""What the verbs of `kafkactl config` that write have in common: how a change is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.operations.contexts import ContextChange

_TONES = {"done": "good", "nothing-to-do": "good", "planned": "strong"}


def tell(change: ContextChange) -> NoReturn:
    """Say what came of a change of the contexts, and end the command."""
    emit("config.change", change.to_dict(), render=_show, exit_code=change.outcome.exit_code)


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    before, after = answer["before"] or {}, answer["after"] or {}
    words = {"done": "Changed", "planned": "Would change", "nothing-to-do": "Nothing to change in"}
    page.heading(f"{words[answer['outcome']]} context {answer['name']} of {answer['file']}", _TONES[answer["outcome"]])
    keys = [key for key in {**before, **after} if key != "name" and before.get(key) != after.get(key)]
    page.table(("key", "before", "after"), [(key, _word(before.get(key)), _word(after.get(key))) for key in keys])
    page.findings(answer["findings"])


def _word(value: str | bool | None) -> str | None:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
