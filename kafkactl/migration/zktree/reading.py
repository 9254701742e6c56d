"""Walk over a tree: reads znodes by the rules of their kind and keeps the findings about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafkactl.core.findings import Finding, Severity
from kafkactl.migration.zktree.json import BrokenError, NotJsonError
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.znode import Znode

Value = TypeVar("Value")
_STEP = "Correct the znode, or delete it if it is not needed, before the last broker is restarted for the migration."


class TreeReader:
    """The findings so far, and the paths whose data is hidden."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.findings: list[Finding] = []
        self.hidden: list[str] = []

    def read(
        self,
        path: str,
        decode: Callable[[Znode], Value],
        *,
        id: str,
        then: str,
        ignored_id: str | None = None,
        ignored_then: str = "",
    ) -> Value | None:
        """Read the value of a znode; None if it is absent, hidden or broken.

        `then` is what follows from a broken one. `ignored_id` and `ignored_then` are given for kinds that Kafka
        takes as absent, in silence, where their data is not JSON.
        """
        znode = self.tree.get(path)
        if znode is None:
            return None
        if znode.hidden is not None:
            self.hidden.append(path)
            return None
        try:
            return decode(znode)
        except NotJsonError as error:
            silent = ignored_id is not None
            said = ignored_id if ignored_id is not None else id
            self.note(said, Severity.BLOCKER, path, f"{error}; {ignored_then if silent else then}")
        except BrokenError as error:
            self.note(id, Severity.BLOCKER, path, f"{error}; {then}")
        return None

    def note(self, id_: str, severity: Severity, subject: str, message: str, **evidence: Any) -> None:
        """Keep a finding."""
        self.findings.append(
            Finding(id=id_, severity=severity, subject=subject, message=message, evidence=evidence, next_step=_STEP)
        )
