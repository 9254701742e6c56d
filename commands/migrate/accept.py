"""`--accept`: a word that accepts nothing is a usage error, before anything is observed or done.

A word is ID or ID@SUBJECT. Subjects that name nodes (`broker-3`) have to name nodes of the inventory, or of the saved
observation; other subjects (`/brokers/topics`) are not verified.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final

import click

from kafkactl.commands.rendering.output import say

_NODE: Final = re.compile(r"([a-z]+)-(\d+)")
_ROLES: Final = ("broker", "controller")
_NEAR: Final = 3
_OPTION: Final = "--accept"


def accepted_words(accepted: Iterable[str]) -> tuple[str, ...]:
    """Return the words with ids; a note on stderr names the id for each number of an earlier build.

    Raises click.BadOptionUsage for an id that no finding has, or that several findings share.
    """
    if not accepted:
        return ()
    from kafkactl.migration.api.checking import OBSERVED, UNKNOWN_ID, accept_names, present_word

    ids = accept_names()
    words = {word: present_word(word) for word in accepted}
    for word, present in words.items():
        name = present.partition("@")[0]
        if name in (UNKNOWN_ID, OBSERVED):
            raise click.BadOptionUsage(_OPTION, f"{name} covers several findings. Accept each by its own id.")
        if name not in ids:
            raise click.BadOptionUsage(_OPTION, f"There is no finding {name!r}.{meant(nearest(name.lower(), ids))}")
        if present != word:
            say(f"--accept {word} is a number of an earlier version: use --accept {present}", "dim")
    return tuple(words.values())


def refuse_unknown_nodes(accepted: Iterable[str], nodes: Collection[str], *, option: str = _OPTION) -> None:
    """Raise click.BadOptionUsage for a subject with a node that is not among `nodes` (`broker 3`)."""
    known = [node.replace(" ", "-") for node in nodes]
    for word in accepted:
        for subject in word.partition("@")[2].split(",-"):
            if known and _is_node(subject) and subject not in known:
                same_id = [node for node in known if node.partition("-")[2] == subject.rpartition("-")[2]]
                near = same_id or nearest(subject, known)
                raise click.BadOptionUsage(
                    option, f"{word}: the inventory or observation has no node {subject!r}.{meant(near)}"
                )


def meant(near: Iterable[str]) -> str:
    """Return the end of a message about an unknown word; empty if no known word resembles it."""
    words = " or ".join(near)
    return f" Did you mean {words}?" if words else ""


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the words most like this one, the best first."""
    return difflib.get_close_matches(word, sorted(known), n=_NEAR, cutoff=0.6)


def _is_node(subject: str) -> bool:
    """Return True if a subject is meant as one node; `brokr-3` is, `orders-3` is a partition."""
    found = _NODE.fullmatch(subject)
    return found is not None and bool(difflib.get_close_matches(found[1], _ROLES, n=1, cutoff=0.8))
