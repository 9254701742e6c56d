"""Input and result of a comparison of ZooKeeper with KRaft.

Invariant: what the observer was not shown is `Unknown`, never a difference; secrets are compared and never shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, TypeAlias

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import Image
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.migration.zktree.znode import Hidden

REDACTED: Final = Hidden.REDACTED.value
_HIDDEN_WORDS: Final = frozenset(reason.value for reason in Hidden)


@frozen
class Difference:
    """Difference between ZooKeeper and KRaft; under `-o jsonl` each is a line of its own.

    `entity` and `key` name it in Kafka's words (`partition` `orders-3`), `znode` where ZooKeeper keeps it.
    `zookeeper` and `kraft` are JSON values: the fields that differ, null if that side does not have it. `rule`
    and `explained` say why it is harmless; null: nothing explains it.
    """

    entity: str
    """topic, partition, topic-config, broker-config, config, client-quota, scram-credential, acl, delegation-token,
    producer-ids, broker, feature or cluster-id; in `copy` the type of the record.
    """
    key: str
    """Name of the entity: `orders`, `orders-3`, `user alice, client-id app`, `TOPIC orders LITERAL`."""
    zookeeper: Any
    """Different values in ZooKeeper; None if the entity is missing there."""
    kraft: Any
    """Different values in KRaft; None if the entity is missing there."""
    znode: str | None = None
    """Path of the entity in ZooKeeper, below the chroot."""
    rule: str | None = None
    """The name of the rule that explains it."""
    explained: str | None = None
    """Why it is harmless; None: nothing explains it."""

    to_dict = json_of("entity", "key", "zookeeper", "kraft", "explained", "rule", "znode")


@frozen
class Unknown:
    """Entity that the observer could not read or decrypt, and that was therefore not compared."""

    entity: str
    key: str
    reason: str


Answer: TypeAlias = Difference | Unknown


@frozen
class Case:
    """Both sides of a comparison.

    `raw` are the znodes of `tree`. `copied` are the partitions that the copy made (topic id, partition), None if it
    is not known. `inter_broker_protocol` is that of the brokers on ZooKeeper by their ids, as they are configured;
    `cluster_ids` are those on the disks of the controllers, by the name of the node. `secrets` are what encrypted
    passwords may be opened with. `hidden` are paths, and paths with a key, whose data is withheld; `closed` are the
    beginnings of paths that the observer was not let into; `unreadable` says of a znode why Kafka cannot read it.
    """

    raw: Tree = field(repr=False)
    tree: KafkaTree = field(repr=False)
    image: Image = field(repr=False)
    time_ms: int | None = None
    copied: frozenset[tuple[Uuid, int]] | None = field(default=None, repr=False)
    inter_broker_protocol: Mapping[int, str] = field(default_factory=dict)
    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    hidden: frozenset[str] = frozenset()
    closed: tuple[str, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def is_hidden(self, path: str, key: str | None = None) -> bool:
        """Return True if the data of a znode, or one value in it, is withheld, or a path above was not readable."""
        if path in self.hidden or (key is not None and f"{path} {key}" in self.hidden):
            return True
        return any(path.startswith(closed) for closed in self.closed)

    def is_kept(self, path: str) -> bool:
        """Return True if the observation has this part of the tree; every broker makes these paths at its start."""
        return self.raw.get(path) is not None or bool(self.raw.children(path))


def is_withheld(value: object) -> bool:
    """Return True if a text or bytes replace a value that was removed."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text in _HIDDEN_WORDS
