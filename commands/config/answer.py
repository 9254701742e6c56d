"""What the verbs of `kafkactl config` that write have in common: the change, and how it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.adapters.files.contexts import Context, Contexts
    from kafkactl.findings import Finding

_TONES = {"done": "good", "nothing-to-do": "good", "planned": "strong"}


def change_and_tell(
    change: Callable[[Contexts], Contexts], name: str, *, dry_run: bool, findings: Iterable[Finding] = ()
) -> NoReturn:
    """Change the file of contexts, or only say how, and end the command with what came of it."""
    import os

    from kafkactl.adapters.files.contexts import contexts_file
    from kafkactl.adapters.files.contexts_edit import change_contexts
    from kafkactl.findings import Outcome

    before, after = change_contexts(contexts_file(os.environ), change, dry_run=dry_run)
    outcome = Outcome.NOTHING_TO_DO if before == after else Outcome.PLANNED if dry_run else Outcome.DONE
    answer = {
        "outcome": outcome,
        "file": after.file,
        "name": name,
        "before": _shown(before, name),
        "after": _shown(after, name),
        "findings": list(findings),
    }
    emit("config.change", answer, render=_show, exit_code=outcome.exit_code)


def context_dict(contexts: Contexts, name: str) -> dict[str, Any]:
    """One context as it is published."""
    from kafkactl.adapters.files.contexts import CONTEXT_KEYS

    context: Context = contexts.context(name)
    return {
        "name": name,
        "current": contexts.current == name,
        **{key: getattr(context, key) for key in CONTEXT_KEYS},
    }


def _shown(contexts: Contexts, name: str) -> dict[str, Any] | None:
    return context_dict(contexts, name) if name in contexts.by_name else None


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    before, after = answer["before"] or {}, answer["after"] or {}
    words = {"done": "Changed", "planned": "Would change", "nothing-to-do": "Nothing to change in"}
    page.heading(f"{words[answer['outcome']]} context {answer['name']} of {answer['file']}", _TONES[answer["outcome"]])
    keys = [key for key in {**before, **after} if key != "name" and before.get(key) != after.get(key)]
    page.table(("key", "before", "after"), [(key, _word(before.get(key)), _word(after.get(key))) for key in keys])
    page.findings(answer["findings"])


def _word(value: str | bool | None) -> str | None:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
