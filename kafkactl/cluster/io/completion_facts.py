"""The names of a live cluster that shell completion offers, gathered with one request for each kind.

A part that cannot be read is left out without a message and is not asked for again: the user is typing.
"""

from __future__ import annotations

import contextlib
from typing import Any

from kafkactl.cluster.io.leader_source import describe_quorum
from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client

_MOST_TOPICS = 20_000


def gather(client: Client) -> dict[str, Any]:
    """Return the known names of a cluster for completion; empty if no node answers.

    The keys are `brokers` and `controllers` (ids), `topics` (names), and `features`: name -> [lowest, highest,
    finalized] level. Raises nothing, whatever the cluster answers.
    """
    found: dict[str, Any] = {}
    for part in (_features, _topics):
        with contextlib.suppress(KafkactlError):
            found |= part(client)
    return found | {role: sorted(ids) for role, ids in _nodes(client).items() if ids}


def _nodes(client: Client) -> dict[str, set[int]]:
    """Return brokers and controllers as they name each other, and the followers that the leader names."""
    brokers: set[int] = set()
    controllers: set[int] = set()
    with contextlib.suppress(KafkactlError):
        (brokers if client.role is Role.BROKER else controllers).update(node.id for node in client.cluster().nodes)
    with contextlib.suppress(KafkactlError):
        answer = describe_quorum(client)
        controllers.update(replica.id for replica in answer.voters)
        others = {replica.id for replica in answer.observers} - controllers - brokers
        # To brokers, an observer that is none of them is a controller that does not vote.
        (controllers if client.role is Role.BROKER else brokers).update(others)
    return {"brokers": brokers, "controllers": controllers}


def _features(client: Client) -> dict[str, Any]:
    for answer in client.versions(client.bootstrap[:1]).values():
        if not isinstance(answer, KafkactlError):
            return {
                "features": {
                    name: [levels.lowest, levels.highest, answer.finalized.get(name, 0)]
                    for name, levels in answer.supported.items()
                }
            }
    return {}


def _topics(client: Client) -> dict[str, Any]:
    if client.role is not Role.BROKER:
        return {}  # controllers answer no Metadata request
    topics = client.ask_any("Metadata", {"Topics": None, "AllowAutoTopicCreation": False}).body["Topics"]
    names = sorted(topic["Name"] for topic in topics if not topic["ErrorCode"] and topic["Name"])
    return {"topics": names[:_MOST_TOPICS]}
