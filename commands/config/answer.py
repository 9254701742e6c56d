"""Answer of the `kafkactl config` commands that write, and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.kafka.api.contexts import ContextChange

_TONES = {"done": "good", "nothing-to-do": "good", "planned": "strong"}


def tell(change: ContextChange) -> NoReturn:
    """Print the outcome of a change of the contexts, and end the command."""
    emit("config.change", change, render=_show, exit_code=change.outcome.exit_code)


def _show(page: Page, change: ContextChange) -> None:
    before, after = (dict(context or {}) for context in change.shown())
    words = {"done": "Changed", "planned": "Would change", "nothing-to-do": "Nothing to change in"}
    page.heading(f"{words[change.outcome]} context {change.name} of {change.after.file}", _TONES[change.outcome])
    keys = [key for key in {**before, **after} if key != "name" and before.get(key) != after.get(key)]
    page.table(("key", "before", "after"), [(key, _word(before.get(key)), _word(after.get(key))) for key in keys])
    after_contexts = change.after
    if change.name in after_contexts.by_name and after_contexts.current != change.name:
        page.line()
        page.line(
            Word(f"The current context is {after_contexts.current or 'none'}. To use this one without --context:")
        )
        page.line(Word(f"kafkactl config use {change.name}", "strong"))
    page.findings(change.findings)


def _word(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value)
