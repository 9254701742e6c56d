"""A node of a live cluster in one role: the answers of its process, and the reason if a node was not asked.

Invariant: a fact that was not observed is None, never a guess. A node that was not asked is not silent, and not alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, Role
from kafkactl.protocol.api_versions import NodeVersions


class Silence(StrEnum):
    """Kind of a node's silence, which decides the known facts about the node.

    refused: every address refuses the connection. unreached: no connection is possible, because the host is off, the
    network is cut or a firewall drops the packets. hangs: an address accepts the connection and does not answer, as a
    paused process does. elsewhere: another node, or one of another cluster, answers in its place.
    """

    REFUSED = "refused"
    UNREACHED = "unreached"
    HANGS = "hangs"
    ELSEWHERE = "elsewhere"


@frozen
class NotAsked:
    """The reason why a question has no answer, and the step by which it gets one. The reason is not evidence about the
    node.

    `is_access`: a right, a login or an address is missing, and nothing else is known to be wrong.
    """

    reason: str
    step: str
    is_access: bool = False


@frozen
class ClusterNode:
    """A node in one role, and its answers.

    `role` is the role in which the node was asked. `answers`: True a node of that role answers at its address, and none
    of another id or cluster; False it was asked and does not (`silence` says how); None it was not asked, or could not
    be (`not_asked` is the reason, whether its address is known or not). `named_itself`: the answer came under its own
    id (it does not say so before 3.7, or to a user without DESCRIBE_CONFIGS), so no other node answers in its place.
    `roles` are its process.roles, if it shows them. `versions` is its answer to ApiVersions. `leader_id` and
    `leader_epoch` are the leader that a controller follows (-1: none), None if it did not say. `auto_join`: whether it
    makes itself a voter (controller.quorum.auto.join.enable), None if it did not say.
    """

    id: int
    role: Role
    answers: bool | None
    versions: NodeVersions | None = None
    endpoints: tuple[Endpoint, ...] = ()
    named_itself: bool = False
    cluster_id: str | None = None
    silence: Silence | None = None
    roles: frozenset[Role] | None = None
    not_asked: NotAsked | None = None
    leader_id: int | None = None
    leader_epoch: int | None = None
    auto_join: bool | None = None

    @property
    def name(self) -> str:
        """Return `broker 4`, the subject of findings."""
        return f"{self.role.value} {self.id}"

    @property
    def levels(self) -> Mapping[str, int] | None:
        """Return the finalized levels that the node shows, level 0 left out; None if it shows none.

        A node without metadata reports epoch -1 and no levels, and controllers of 3.3 always do.
        """
        if self.versions is None or (self.versions.finalized_epoch < 0 and not self.versions.finalized):
            return None
        return self.versions.finalized
