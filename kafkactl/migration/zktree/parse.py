"""Parser of znodes into Kafka's entities in ZooKeeper: every kind of znode in one walk."""

from __future__ import annotations

from collections.abc import Iterable

from kafkactl.core.findings import Finding, Severity
from kafkactl.migration.zktree import access as tree_access
from kafkactl.migration.zktree import admin as tree_admin
from kafkactl.migration.zktree import cluster as tree_cluster
from kafkactl.migration.zktree import settings as tree_settings
from kafkactl.migration.zktree import topics as tree_topics
from kafkactl.migration.zktree.reading import TreeReader
from kafkactl.migration.zktree.tree import Tree, tree_of
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.migration.zktree.znode import Hidden, Znode, decode_znodes


def parse_tree(tree: Tree) -> KafkaTree:
    """Return the values of all znodes of a Kafka cluster. Never raises for their content; see the findings."""
    reader = TreeReader(tree)
    # The children of a znode that may not be read are not listed either, which does not mean that there are none.
    reader.hidden += [path for path, znode in tree.znodes.items() if znode.hidden is Hidden.NO_PERMISSION]
    clients = tree_settings.read_client_settings(reader)
    return KafkaTree(
        cluster_id=tree_cluster.read_cluster_id(reader),
        controller=tree_cluster.read_controller(reader),
        controller_epoch=tree_cluster.read_controller_epoch(reader),
        migration=tree_cluster.read_migration(reader),
        features=tree_cluster.read_features(reader),
        knows_brokers=_knows_brokers(tree),
        brokers=tree_cluster.read_brokers(reader),
        topics=tree_topics.read_topics(reader),
        topic_configs=tree_settings.read_topic_configs(reader),
        broker_configs=tree_settings.read_broker_configs(reader),
        client_quotas=clients.quotas,
        scram=clients.scram,
        acls=tree_access.read_acls(reader),
        delegation_tokens=tree_access.read_tokens(reader),
        producer_ids=tree_admin.read_producer_ids(reader),
        pending_deletions=tree_admin.read_pending_deletions(reader),
        reassignments=tree_admin.read_reassignments(reader),
        preferred_elections=tree_admin.read_preferred_elections(reader),
        notifications=tree_admin.read_notifications(reader),
        hidden=tuple(sorted(set(reader.hidden))),
        hidden_scram=clients.hidden_scram,
        findings=(*tree.findings, *reader.findings, *_hidden(reader.hidden)),
    )


def _knows_brokers(tree: Tree) -> bool:
    place = tree.get(tree_cluster.BROKER_IDS)
    return bool(tree.children(tree_cluster.BROKER_IDS)) or (place is not None and place.hidden is None)


def parse_znodes(znodes: Iterable[Znode], chroot: str | None = None) -> KafkaTree:
    """Return the values of bare znodes. Raises InputError as `tree_of` does."""
    return parse_tree(tree_of(znodes, chroot))


def parse_saved_tree(data: bytes, *, file: str) -> tuple[KafkaTree, tuple[Finding, ...]]:
    """Return the values from the bytes of `zk.jsonl.gz`, with the findings about the file itself.

    Raises InputError as `tree_of` does.
    """
    saved = decode_znodes(data, file=file)
    return parse_znodes(saved.znodes), saved.findings


def _hidden(paths: list[str]) -> list[Finding]:
    if not paths:
        return []
    shown = sorted(set(paths))
    return [
        Finding(
            id="znodes-hidden",
            severity=Severity.WARNING,
            subject="saved tree",
            message=f"{len(shown)} values were taken out or could not be read ({shown[0]} …): they are unknown, and"
            " whether the copy can read them is not checked",
            evidence={"paths": shown[:10], "count": len(shown)},
        )
    ]
