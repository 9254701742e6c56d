"""Evidence that an observation lacks, and leftovers of an earlier attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder, Quorum, is_old


def missing_evidence(evidence: Evidence) -> tuple[Finding, ...]:
    """Return `evidence-missing` for each source of the state that was not observed."""
    return tuple(
        warning("evidence-missing", subject, f"{what}: {then}")
        for missing, subject, what, then in _SOURCES
        if missing(evidence)
    )


def _claimed_by_unknown_node(e: Evidence) -> bool:
    return e.log is None and e.kraft_state is None and (e.controllers is Quorum.UP or e.holder is Holder.KRAFT)


_SOURCES: Final[tuple[tuple[Callable[[Evidence], bool], str, str, str], ...]] = (
    (
        lambda e: e.tree is None,
        "zookeeper",
        "no znodes were observed",
        "who holds /controller, and whether ZooKeeper is written, is not known",
    ),
    (
        lambda e: e.tree is not None and e.holder is Holder.UNKNOWN,
        "/controller",
        "it cannot be read",
        "the active controller is unknown",
    ),
    (
        lambda e: e.tree is not None and e.copy_marker is CopyMarker.UNKNOWN,
        "/migration",
        "it cannot be read",
        "whether the copy was done is not known",
    ),
    (
        lambda e: (
            not e.observation.controllers and (e.copy_marker is not CopyMarker.ABSENT or e.holder is Holder.KRAFT)
        ),
        "controllers",
        "no controller was observed",
        "whether one runs is not known",
    ),
    (
        _claimed_by_unknown_node,
        "metadata log",
        "neither a log nor the metric of a controller was observed",
        "the state is that of znodes and brokers alone",
    ),
    (
        lambda e: (
            e.log is None and any(is_old(facts, e.observation, e.copy_marker) for facts in e.observation.logs.values())
        ),
        "metadata log",
        "every log that was observed ends long before what the quorum has committed",
        "it is an old copy or that of another quorum, and does not show the present state",
    ),
    (
        lambda e: e.log is None and e.kraft_state is not None,
        "metadata log",
        "no log was observed",
        "registrations and the course of the copy are not known",
    ),
)


_OF_THE_OBSERVER: Final = frozenset({"zookeeper-of-another-cluster"})


def several_clusters(e: Evidence) -> tuple[Finding, ...]:
    """Return the findings that the observation is not of one cluster and all of its nodes.

    Then nothing follows from it.
    """
    by_observer = (finding for finding in e.observation.findings if finding.id in _OF_THE_OBSERVER)
    return (*by_observer, *e.identities.findings, *different_clusters(e))


def different_clusters(e: Evidence) -> Iterator[Finding]:
    """Yield a finding if the znodes and a log with the copy name topics and share no id: nothing connects the two.

    A topic keeps its id in the copy and in the dual write; only all of them made again while ZooKeeper was away would
    look the same. Behind a rollback the log of controllers that are gone says nothing about ZooKeeper any more.
    """
    is_of_now = e.holder is Holder.KRAFT or e.controllers in (Quorum.UP, Quorum.MINORITY)
    if e.tree is None or e.log is None or e.kraft_state != ZkMigrationState.MIGRATION or not is_of_now:
        return
    in_zookeeper = {topic.id for topic in e.tree.topics.values() if topic.id is not None}
    if not in_zookeeper or not e.log.image.topics or not in_zookeeper.isdisjoint(e.log.image.topics):
        return
    yield blocker(
        "tree-and-log-of-different-clusters",
        "observation",
        f"{len(in_zookeeper)} topics are in ZooKeeper and {len(e.log.image.topics)} in the log, and none has the same"
        " id in both: they seem to be of different clusters",
        zookeeper=len(in_zookeeper),
        log=len(e.log.image.topics),
    )


def what_is_left_over(evidence: Evidence) -> tuple[Finding, ...]:
    """Return the leftovers of an earlier attempt; each prevents the next one."""
    return tuple(_leftovers(evidence))


def _leftovers(e: Evidence) -> Iterator[Finding]:
    for id, log in sorted(e.observation.logs.items()):
        if log.end_offset > 0:
            yield warning(
                "controller-disk-left-over",
                f"controller {id}",
                f"the disk of controller {id} has a metadata log that ends at {log.end_offset}: a new attempt requires"
                " an empty one",
                end_offset=log.end_offset,
                state=log.migration_state,
            )
    if e.copy_marker in (CopyMarker.COPIED, CopyMarker.NOT_COPIED, CopyMarker.BROKEN):
        offset = None if e.tree is None or e.tree.migration is None else e.tree.migration.metadata_offset
        yield warning(
            "migration-znode-left-over",
            "/migration",
            "/migration is left of an earlier attempt; with an offset above 0 a new quorum skips the copy and "
            "empties ZooKeeper",
            metadata_offset=offset,
        )
    for broker in e.brokers:
        if broker.file_is_plain is False:
            text = f"the file of {broker.name} still has the configuration of the migration"
            yield warning("broker-file-left-over", broker.name, text)
        if broker.registration is not None:
            yield note(
                "broker-metadata-left-over",
                broker.name,
                f"{broker.name} was registered with the quorum, so its disk may still have __cluster_metadata-0",
                "Before another try with Kafka older than 3.7.1 remove that directory while the broker is stopped.",
            )
