"""A node's file that was edited by hand between two phases: what differs, and whether the edit can be carried along.

Invariant: the driver never overwrites what it has not read or written itself. An edit in keys that no phase touches is
carried into the node's own file, from which every later file is rendered, after an operator asks for it; an edit in a
key that the phases change contradicts them and is never carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.wording import some
from kafkactl.migration.render.properties_edit import Edits, edited, shown_diff
from kafkactl.protocol.redact import REDACTED, is_secret_setting
from kafkactl.protocol.text.properties import parse_properties

_OF_THE_PHASES: Final = frozenset({MIGRATION_ENABLE, "process.roles"})
_SHOWN: Final = 4


class HandEdits(StrEnum):
    """Treatment of edits: the run stops, they are carried into every later file, or they are overwritten."""

    REFUSE = "refuse"
    CARRY = "carry"
    OVERWRITE = "overwrite"


@frozen(kw_only=False)
class EditAnswers:
    """The answers of an operator about edits: for every node, and for single nodes (`broker 2`) in its place."""

    every: HandEdits = HandEdits.REFUSE
    nodes: Mapping[str, HandEdits] = field(default_factory=dict)

    def of(self, node: str) -> HandEdits:
        """Return the answer for the file of a node."""
        return self.nodes.get(node, self.every)


NO_EDITS: Final = EditAnswers()


def edit_answers(text: str) -> EditAnswers:
    """Read answers, separated by commas: `carry`, or `carry@broker-1,overwrite@controller-3001`.

    Raises ValueError for another word.
    """
    every, nodes = HandEdits.REFUSE, {}
    for item in text.split(","):
        word, at, subject = item.strip().partition("@")
        if at:
            role, _, id = subject.rpartition("-")
            nodes[f"{role} {id}"] = HandEdits(word)
        else:
            every = HandEdits(word)
    return EditAnswers(every, nodes)


@frozen
class HandEdit:
    """An edit of the file of `node` (`broker 2`). `keys` are the new values, None for a key that is gone.

    `own` is the node's own file with the edit in it, None if `conflicts` names keys that the phases change.
    """

    node: str
    current: bytes = field(repr=False)
    keys: Mapping[str, str | None] = field(repr=False)
    conflicts: tuple[str, ...]
    own: bytes | None = field(repr=False)
    words: str
    diff: str = field(repr=False)


def hand_edit(node: str, current: bytes, *, known: Iterable[bytes], original: bytes) -> HandEdit | None:
    """Return the edit of a file; None if the file is, to the byte, the original or one that the driver wrote (`known`).

    What was edited is taken to be that one of them from which the fewest keys differ. Raises DecodeError for a file
    that Java would not read.
    """
    candidates = [original, *known]
    if current in candidates:
        return None
    base = min(reversed(candidates), key=lambda candidate: len(changed_keys(candidate, current)))
    keys = changed_keys(base, current)
    is_own = base == original
    touched = set(_OF_THE_PHASES) if is_own else {*changed_keys(original, base), *_OF_THE_PHASES}
    conflicts = tuple(sorted(touched & set(keys)))
    own = None if conflicts else current if is_own else _with(original, keys)
    return HandEdit(
        node=node,
        current=current,
        keys=keys,
        conflicts=conflicts,
        own=own,
        words=_words(base, keys),
        diff=shown_diff(base, current, before_name=f"{node} as the driver knows it", after_name=f"{node} now"),
    )


def changed_keys(before: bytes, after: bytes) -> dict[str, str | None]:
    """Return the values that Java reads differently in the second file: the new value, None for a removed key."""
    old, new = (
        {key: text.strip() for key, text in parse_properties(content).mapping.items()} for content in (before, after)
    )
    return {key: new.get(key) for key in sorted({*old, *new}) if old.get(key) != new.get(key)}


def _with(original: bytes, keys: Mapping[str, str | None]) -> bytes:
    wanted = {key: value for key, value in keys.items() if value is not None}
    return edited(original, Edits(set=wanted, remove=frozenset(keys) - set(wanted)))


def _words(base: bytes, keys: Mapping[str, str | None]) -> str:
    if not keys:
        return "comments or the order of its lines"
    old = parse_properties(base).mapping
    changes = [
        f"{key} {_shown(key, old.get(key))} -> {_shown(key, value)}" for key, value in list(keys.items())[:_SHOWN]
    ]
    return ", ".join(changes) + (f" and {len(keys) - _SHOWN} more keys" if len(keys) > _SHOWN else "")


def _shown(key: str, value: str | None) -> str:
    if value is None:
        return "(absent)"
    return REDACTED if is_secret_setting(key, value) else value.strip()


def edit_finding(edit: HandEdit, wanted: HandEdits) -> Finding | None:
    """Return the reason why a run stops at an edit; None if an operator has chosen a treatment."""
    if wanted is HandEdits.OVERWRITE or (wanted is HandEdits.CARRY and edit.own is not None):
        return None
    text = f"the file of {edit.node} was changed since the driver last read or wrote it: {edit.words}"
    if edit.conflicts:
        text += f"; the phases of the migration change {some(edit.conflicts)} themselves"
        next_step = (
            f"Put the driver's value back into the file; or give --hand-edits overwrite@{edit.node.replace(' ', '-')},"
            " which replaces the file (the journal keeps the edited one)."
        )
    else:
        next_step = (
            f"Give --hand-edits carry@{edit.node.replace(' ', '-')} to keep the edit in every later file, those of a"
            " rollback included; or --hand-edits overwrite, likewise with @NODE, to replace the file (the journal keeps"
            " the edited one)."
        )
    return blocker(
        "config-edited-by-hand",
        edit.node,
        text,
        next_step,
        keys=sorted(edit.keys),
        conflicts=list(edit.conflicts),
        diff=edit.diff,
    )
