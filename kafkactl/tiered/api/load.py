"""Reading what `kafkactl tiered` judges: metadata partitions of several replicas, the cluster, the store's listing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.progress import expect
from kafkactl.core.values import Uuid
from kafkactl.core.wording import counted
from kafkactl.dryrun.api.engines import Engine
from kafkactl.metadata.log.lineage import BatchIndex, divergence, index_of
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.tiered.api.engines import AUTO_ENGINE, IN_PROCESS, chosen_engine, folded
from kafkactl.tiered.audit.case import HOUR_MS, AuditCase, Choices, Replicas
from kafkactl.tiered.bucket import Bucket
from kafkactl.tiered.cluster_view import NO_TOPIC_IS_GONE, ClusterView, MetadataTopicView, PartitionView, TopicView
from kafkactl.tiered.io.image import removed_topics, view_of_metadata
from kafkactl.tiered.io.listing import read_listing
from kafkactl.tiered.io.live import LiveObservation
from kafkactl.tiered.io.observation import SavedObservation, read_observation
from kafkactl.tiered.io.sources import MetadataReplica, SegmentFile, TieredSources, open_sources, without_metadata
from kafkactl.tiered.layouts import AUTO, layout_of
from kafkactl.tiered.ledger import Ledger, MetadataLog


@frozen
class Request:
    """Input to read. Paths as the operator gave them; times in milliseconds; None if an option was not given."""

    sources: tuple[str, ...] = ()
    observation: str | None = None
    metadata: str | None = None
    bucket: str | None = None
    columns: tuple[str, ...] = ()
    layout: str = AUTO
    metadata_partitions: int | None = None
    copy_timeout_ms: int = HOUR_MS
    now_ms: int | None = None
    live: LiveObservation | None = None
    engine: str = AUTO_ENGINE
    master: str | None = None
    context_master: str | None = None
    application: str = "kafkactl tiered"
    """Name of the Spark application."""


@frozen
class Loaded:
    """Folded input. `findings` are about the sources; `logs` are the metadata partitions; `engine` is what folded them,
    and why."""

    request: Request
    case: AuditCase
    logs: tuple[MetadataLog, ...]
    paths: tuple[str, ...]
    assumptions: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    cluster: bool = False
    replicas: tuple[MetadataReplica, ...] = ()
    engine: Engine = IN_PROCESS

    @property
    def is_empty(self) -> bool:
        """Return True if there was no record, and nothing says that there should be none."""
        if self.case.lacks_metadata_topic:
            return False
        logs = self.case.ledger.logs.values()
        return not any(facts.records for facts in logs) and not (
            logs and all(facts.log.expected_end == 0 for facts in logs)
        )


@frozen
class Prepared:
    """Input before its records are folded: `pairs` are the chosen replica of each metadata partition with how it is
    read, `watched` the segments of the store's listing; `is_of_one_cluster` says that ids in the sources prove it."""

    request: Request
    opened: TieredSources
    view: ClusterView
    findings: tuple[Finding, ...]
    bucket: Bucket | None
    replicas: tuple[MetadataReplica, ...]
    compared: Replicas
    pairs: tuple[tuple[MetadataReplica, MetadataLog], ...]
    observed: str | None
    is_of_one_cluster: bool

    @property
    def watched(self) -> frozenset[bytes]:
        """Return the ids of the segments that have objects in the listing."""
        return frozenset() if self.bucket is None else frozenset(self.bucket.segments)

    @property
    def comparison(self) -> Comparison:
        """Return the chosen replicas, and what the comparison of all found."""
        return [replica for replica, _ in self.pairs], self.compared


def load(request: Request, *, keep_deleted: bool = False) -> Loaded:
    """Read and fold. Raises InputError for a source that cannot be understood, `sources-of-different-clusters`; on
    Spark also as `tiered.io.spark.fold_on_spark` does."""
    found = prepared(request)
    chosen = [replica for replica, _ in found.pairs]
    engine = chosen_engine(request.engine, request.master, request.context_master, chosen)
    expect(sum(file.size for replica in chosen for file in replica.files))
    name = request.application
    ledger = folded(engine, found.pairs, keep_deleted=keep_deleted, watched=found.watched, name=name)
    return changed(loaded_from(found, ledger), engine=engine)


Comparison: TypeAlias = tuple[list[MetadataReplica], Replicas]
"""The most advanced replica of each metadata partition, and the differences of the others from it."""


def prepared(request: Request, comparison: Comparison | None = None) -> Prepared:
    """Read everything but the records to fold. With the `comparison` of an earlier call no replica is read for it.

    Raises InputError for a source that cannot be understood, `sources-of-different-clusters`.
    """
    saved = None if request.observation is None else read_observation(request.observation)
    is_alone = saved is None and request.live is None
    # If the cluster's metadata log states that the topic was never created, no source can hold it.
    opened = open_sources(request.sources, needs_metadata=is_alone and request.metadata is None)
    replicas = opened.replicas
    if request.live is not None and not replicas:
        replicas = _fetched(request.live)
    elif saved is not None and not replicas:
        tiers = any(topic.is_tiered for topic in (saved.view.topics or {}).values())
        is_missing = saved.view.metadata_topic is None and tiers
        replicas = open_sources(saved.logs, needs_metadata=not is_missing).replicas
    view, findings, is_of_one_cluster = _view(request, saved, opened)
    if is_alone and not replicas and view.metadata_topic is not None:
        raise without_metadata(request.sources)
    bucket = _bucket(request, saved, view)
    chosen, compared = comparison or _compared(replicas)
    return Prepared(
        request=request,
        opened=opened,
        view=view,
        findings=findings if request.live is None else (*request.live.findings, *findings),
        bucket=bucket,
        replicas=tuple(replicas),
        compared=compared,
        pairs=tuple((log, _log(log, replicas, view.metadata_topic)) for log in chosen),
        observed=None if saved is None else saved.path,
        is_of_one_cluster=is_of_one_cluster,
    )


def loaded_from(found: Prepared, ledger: Ledger) -> Loaded:
    """Return the folded input as it is judged."""
    request, view = found.request, found.view
    records_of = {key.topic_id for key in ledger.partitions}
    if not found.is_of_one_cluster and not records_of & set(view.topics or {}):
        view = changed(view, topics_until_ms=NO_TOPIC_IS_GONE)
    elif found.opened.replicas and view.topics_until_ms is None:
        # Records that were read elsewhere may be of topics that were created after the observation.
        view = changed(view, topics_until_ms=view.time_ms or NO_TOPIC_IS_GONE)
    case = AuditCase(
        ledger,
        _with_removed(view, ledger, request.metadata),
        choices=Choices(
            metadata_partitions=request.metadata_partitions,
            copy_timeout_ms=request.copy_timeout_ms,
            now_ms=request.now_ms,
        ),
        bucket=found.bucket,
        replicas=found.compared,
        view_time_ms=None if found.opened.replicas else view.time_ms,
    )
    return Loaded(
        request=request,
        case=case,
        logs=tuple(log for _, log in found.pairs),
        paths=(*request.sources, *([] if found.observed is None else [found.observed])),
        cluster=request.live is not None,
        replicas=found.replicas,
        assumptions=tuple(_assumptions(case, found.opened.notes)),
        findings=found.findings,
    )


def _view(
    request: Request, saved: SavedObservation | None, opened: TieredSources
) -> tuple[ClusterView, tuple[Finding, ...], bool]:
    """Return what is known of the cluster, the findings about its metadata log, and whether that log is proved to be of
    the cluster of the other sources."""
    view = ClusterView() if saved is None else saved.view
    if request.live is not None:
        view = request.live.view
    findings: tuple[Finding, ...] = ()
    metadata: ClusterView | None = None
    path = request.metadata
    if path is None and saved is not None and view.topics is None:
        path = saved.cluster_metadata
    ids = {*opened.cluster_ids, *([view.cluster_id] if view.cluster_id else [])}
    if path is not None:
        read = view_of_metadata(path)
        metadata = read.view
        findings = read.findings
        ids |= {metadata.cluster_id} if metadata.cluster_id else set()
    if len(ids) > 1:
        raise InputError(
            f"the sources are of different clusters: {', '.join(sorted(ids))}",
            id="sources-of-different-clusters",
        )
    is_proved = _check_same_topic(view, opened, path, metadata)
    if metadata is not None:
        others = {*opened.cluster_ids, *([view.cluster_id] if view.cluster_id else [])}
        is_proved = is_proved or metadata.cluster_id in others
        view = _merged(view, metadata)
    disks = {key: tuple(logs) for key, logs in opened.logs.items()}
    return changed(view, disks=disks, cluster_id=next(iter(ids), None)), findings, is_proved or metadata is None


def _with_removed(view: ClusterView, ledger: Ledger, path: str | None) -> ClusterView:
    """Return the view with the topics that the metadata log removed, if it is unknown whether some of them exist.

    A topic whose records are as young as the end of the log may have been created after it; the log is read again for
    the removal only then.
    """
    unknown = {
        key.topic_id for key, log in ledger.partitions.items() if view.exists(key.topic_id, log.first_ms) is None
    }
    if path is None or view.topics is None or not unknown:
        return view
    return changed(view, removed_topics=removed_topics(path, frozenset(unknown)))


def _check_same_topic(view: ClusterView, opened: TieredSources, path: str | None, metadata: ClusterView | None) -> bool:
    """Check that the metadata log is of the same cluster: else every topic seems to be deleted, its objects
    left over. Return True if the id of the metadata topic proves it.

    `meta.properties` is not part of a copied folder; the id of the metadata topic is in every broker's folder.
    """
    ids = {*opened.metadata_topic_ids}
    if view.metadata_topic is not None and view.metadata_topic.topic_id is not None:
        ids.add(view.metadata_topic.topic_id)
    is_known = bool(ids)
    if metadata is not None:
        is_missing = metadata.metadata_topic is None
        if is_missing and not ids and any(topic.is_tiered for topic in (metadata.topics or {}).values()):
            return False  # reported by the audit
        if metadata.metadata_topic is None:
            raise InputError(
                f"the metadata log {path} has no topic {REMOTE_LOG_METADATA}: the log is of another cluster than the"
                " sources, or ends before the topic was created",
                id="metadata-log-without-topic",
                next_step="Give the metadata log of a broker or controller of the same cluster, up to now.",
            )
        if metadata.metadata_topic.topic_id is not None:
            ids.add(metadata.metadata_topic.topic_id)
    if len(ids) > 1:
        raise InputError(
            f"the topic {REMOTE_LOG_METADATA} has different ids in the sources"
            f" ({', '.join(sorted(str(Uuid(raw)) for raw in ids))}): they are of different clusters, or the topic was"
            " deleted and created again",
            id="sources-of-different-clusters",
            next_step="Give sources of one cluster, of one creation of the topic.",
        )
    return is_known and metadata is not None and metadata.metadata_topic is not None


def _merged(view: ClusterView, metadata: ClusterView) -> ClusterView:
    """Return the topics and brokers of the later of both, with the offsets and logs that an observation has of them."""
    assert metadata.topics is not None
    topic, other = view.metadata_topic or metadata.metadata_topic, metadata.metadata_topic
    if topic is not None and other is not None:
        topic = changed(
            topic,
            partitions=other.partitions if topic.partitions is None else topic.partitions,
            configs=other.configs if topic.configs is None else topic.configs,
        )
    view = changed(view, metadata_topic=topic)
    known_ms = view.time_ms if view.topics_until_ms is None else view.topics_until_ms
    if view.topics is not None and known_ms is not None and known_ms >= (metadata.time_ms or 0):
        topics = {topic_id: _filled(found, metadata.topics.get(topic_id)) for topic_id, found in view.topics.items()}
        return changed(view, topics=topics, brokers=metadata.brokers if view.brokers is None else view.brokers)
    topics = {topic_id: _with_offsets(view, found) for topic_id, found in metadata.topics.items()}
    return changed(view, topics=topics, topics_until_ms=metadata.topics_until_ms, brokers=metadata.brokers)


def _filled(topic: TopicView, other: TopicView | None) -> TopicView:
    """Return a topic with what an earlier metadata log has of it in place of what is unknown."""
    if other is None:
        return topic
    configs = other.configs if topic.configs is None else topic.configs
    return changed(topic, configs=configs, partitions=topic.partitions or other.partitions)


def _with_offsets(view: ClusterView, topic: TopicView) -> TopicView:
    partitions: dict[int, PartitionView] = {}
    for number, partition in topic.partitions.items():
        known = view.partition(topic.topic_id, number)
        partitions[number] = (
            partition if known is None else changed(partition, offsets=known.offsets, replica_logs=known.replica_logs)
        )
    return changed(topic, partitions=partitions)


def _bucket(request: Request, saved: SavedObservation | None, view: ClusterView) -> Bucket | None:
    layout = layout_of(request.layout)
    if request.bucket is not None:
        return Bucket(read_listing(request.bucket, columns=request.columns), layout)
    if saved is None or saved.bucket is None:
        return None
    made_ms = saved.bucket_time_ms
    return Bucket(read_listing(saved.bucket, time_ms=view.time_ms if made_ms is None else made_ms), layout)


def _assumptions(case: AuditCase, notes: Sequence[str]) -> Iterator[str]:
    yield from notes
    if case.configured is None and case.topic_partitions is not None:
        yield (
            f"brokers are taken to be configured with {case.topic_partitions} metadata partitions, which is how many "
            "the topic has: give --metadata-partitions if they are not"
        )
    if case.configured and case.topic_partitions and case.configured > case.topic_partitions:
        yield (
            f"the metadata topic has {case.topic_partitions} partitions, and is taken to be given that many as brokers"
            f" are configured with, {case.configured}, before they start: with fewer they do not tier"
        )
    if case.view.topics is None:
        yield "which topics exist is not known: every topic with records is taken to exist"
    unknown = [partition for partition in case.partitions if partition.exists is None]
    if case.view.topics is not None and unknown:
        yield (
            f"{counted(len(unknown), 'partition')} of topics younger than the end of the metadata log, or not in a log"
            " that lacks records or is not proved to be of this cluster: taken to exist"
        )
    if case.bucket is not None and case.view_time_ms is None:
        yield "when the metadata logs were read is not known: no object is excused for being newer"
    judged = [
        partition
        for partition in case.living()
        if partition.replica_log is not None
        and (partition.leader is None or partition.replica_log.broker_id != partition.leader)
    ]
    if judged:
        yield f"{counted(len(judged), 'partition')} judged by the log of another replica than their leader's"


def _compared(replicas: Sequence[MetadataReplica]) -> Comparison:
    """Return the most advanced replica of each metadata partition, and the findings about the others."""
    chosen, stale, diverged = [], [], []
    ordered = sorted(replicas, key=lambda replica: (replica.partition, replica.path))
    for partition, group in itertools.groupby(ordered, key=lambda replica: replica.partition):
        several = list(group)
        if len(several) == 1:
            chosen.append(several[0])
            continue
        indexes = [(_index(replica), replica) for replica in several]
        best = max(indexes, key=lambda entry: (entry[0].end_offset, -entry[1].read_from))
        chosen.append(best[1])
        for index, replica in indexes:
            if replica is best[1]:
                continue
            parted = divergence(best[0], index)
            if parted is not None:
                diverged.append((partition, best[1].path, replica.path, parted.offset))
            if index.end_offset < best[0].end_offset:
                stale.append((partition, replica.path, index.end_offset, best[0].end_offset))
    return chosen, Replicas(stale=tuple(stale), diverged=tuple(diverged))


def _index(replica: MetadataReplica) -> BatchIndex:
    runs = (run for file in replica.files for run in walk_runs(file.pieces(), file=file.path))
    index = index_of(runs)
    index.end_offset = max(index.end_offset, replica.log_start)
    return index


def _fetched(live: LiveObservation) -> tuple[MetadataReplica, ...]:
    """Return the metadata partitions of a live cluster."""
    found = []
    for log in live.logs:
        path = f"cluster:{REMOTE_LOG_METADATA}-{log.partition}"
        file = SegmentFile(path=path, base_offset=log.base_offset, size=0, fetched=log.pieces)
        found.append(MetadataReplica(partition=log.partition, path=path, files=(file,), log_start=0))
    return tuple(found)


def _log(replica: MetadataReplica, replicas: Sequence[MetadataReplica], topic: MetadataTopicView | None) -> MetadataLog:
    known = None if topic is None else topic.logs.get(replica.partition)
    starts = [other.log_start for other in replicas if other.partition == replica.partition]
    if known is not None and known.log_start_offset is not None:
        starts.append(known.log_start_offset)
    return MetadataLog(
        partition=replica.partition,
        paths=tuple(other.path for other in replicas if other.partition == replica.partition),
        log_start=max(starts),
        read=replica.read,
        read_fast=replica.read_fast,
        read_from=replica.read_from,
        expected_end=None if known is None else known.end_offset,
    )
