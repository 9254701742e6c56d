"""Result of a comparison of node settings: differences, nodes that were not read, and open questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kafkactl.cluster.node import NotAsked
from kafkactl.cluster.node_settings import Difference, NodeSettings, difference_findings, differences
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.core.wording import some

Missing = tuple[str, Role, bool, str, str, str]
"""A node that was not read: its name, its role, whether it answers or may, why in words, the id of the reason, and the
next step; "" for the remedy of the finding."""


@frozen
class ReadNode:
    """A node in one role, and where its settings were read from."""

    id: int
    role: Role
    is_read: bool
    """True if the node's settings are known."""
    file: str | None = None
    """The file that was read in place of the node."""

    to_dict = json_of("id", "role", "read=is_read", "file")


@frozen
class SettingsVerdict:
    """`complete`: every node that may answer was read, controllers and brokers among them."""

    nodes: tuple[NodeSettings, ...]
    missing: tuple[Missing, ...]
    differences: tuple[Difference, ...]
    """Settings that differ."""
    complete: bool
    """True if every node that answers was read, of both roles."""
    findings: tuple[Finding, ...]

    @property
    def every_node(self) -> list[ReadNode]:
        """Return the nodes that were read and those that were not, by role and id."""
        read = [ReadNode(id=node.id, role=node.role, is_read=True, file=node.file) for node in self.nodes]
        unread = [
            ReadNode(id=int(name.rpartition(" ")[2]), role=role, is_read=False) for name, role, *_ in self.missing
        ]
        return sorted([*read, *unread], key=lambda node: (node.role.value, node.id))

    to_dict = json_of("complete", "nodes=every_node", "settings=differences", "findings")


def verdict_of(
    nodes: Sequence[NodeSettings], missing: Sequence[Missing], unknown: Mapping[Role, NotAsked] | None = None
) -> SettingsVerdict:
    """Compare the settings that were read, and report those that were not. `unknown`: why the nodes of a role are
    unknown."""
    found = differences(nodes)
    absent = [role for role in Role if not any(node.role is role for node in nodes)]
    complete = not absent and not any(live for _, _, live, *_ in missing)
    return SettingsVerdict(
        nodes=tuple(nodes),
        missing=tuple(missing),
        differences=found,
        complete=complete,
        findings=(*difference_findings(found), *_not_read(missing), *_absent(absent, missing, unknown or {})),
    )


def _not_read(missing: Sequence[Missing]) -> Iterator[Finding]:
    """Yield one finding for each reason, with the nodes that it applies to."""
    reasons: dict[tuple[bool, str], list[Missing]] = {}
    for unread in missing:
        reasons.setdefault((unread[2], unread[4]), []).append(unread)
    for (live, reason), held in reasons.items():
        names = [name for name, *_ in held]
        if live:
            yield warning(
                "node-settings-not-read",
                some(names),
                f"the settings of {some(names)} could not be read: {held[0][3]}",
                held[0][5],
                reason=reason,
                nodes=names,
            )
        else:
            yield note(
                "silent-node-not-compared",
                some(names),
                f"no settings were compared of {some(names)}: no answer",
                "Run the command again when every node answers, or name a node's file with --config FILE.",
                nodes=names,
            )


def _absent(roles: Sequence[Role], missing: Sequence[Missing], unknown: Mapping[Role, NotAsked]) -> Iterator[Finding]:
    for role in roles:
        why = unknown.get(role)
        reason = "" if why is None else f" ({why.reason})"
        step = next((unread[5] for unread in missing if unread[1] is role), "" if why is None else why.step)
        yield warning(
            "no-settings-of-role",
            f"{role.value}s",
            f"the settings of no {role.value} are known{reason}: nothing was compared between controllers and brokers",
            step,
            role=role.value,
        )
