"""`--accept`: a word that accepts nothing is a usage error, before anything is observed or done.

A word is ID, NUMBER, or either with `@SUBJECT`. Subjects that name nodes (`broker-3`) have to name nodes of the
inventory, or of the saved observation; other subjects (`/brokers/topics`) are taken as given.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final

import click

_NODE: Final = re.compile(r"([a-z]+)-(\d+)")
_ROLES: Final = ("broker", "controller")
_NEAR: Final = 3
_OPTION: Final = "--accept"


def refuse_unknown_findings(accepted: Iterable[str]) -> None:
    """Raises click.BadOptionUsage for an id or number that no finding has, or that several findings share."""
    if not accepted:
        return
    from kafkactl.migration.api.checking import UNKNOWN_ID, accept_names, ids_of, meanings

    numbers = meanings()
    ids = accept_names()
    for name in (word.partition("@")[0] for word in accepted):
        if name in numbers or name in ids:
            continue
        if name == UNKNOWN_ID or ids_of(name):
            raise click.BadOptionUsage(_OPTION, f"{name} covers several findings. Accept each by its own name.")
        near = nearest(name.upper(), numbers) or nearest(name.lower(), ids)
        raise click.BadOptionUsage(_OPTION, f"There is no finding {name!r}.{meant(near)}")


def refuse_unknown_nodes(accepted: Iterable[str], nodes: Collection[str], *, option: str = _OPTION) -> None:
    """Raises click.BadOptionUsage for a subject with a node that is not among `nodes` (`broker 3`)."""
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
    """The end of a message about a word that does not exist; empty where nothing is like it."""
    words = " or ".join(near)
    return f" Did you mean {words}?" if words else ""


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The words most like this one, the best first."""
    return difflib.get_close_matches(word, sorted(known), n=_NEAR, cutoff=0.6)


def _is_node(subject: str) -> bool:
    """Whether a subject is meant as one node; `brokr-3` is, `orders-3` is a partition."""
    found = _NODE.fullmatch(subject)
    return found is not None and bool(difflib.get_close_matches(found[1], _ROLES, n=1, cutoff=0.8))
