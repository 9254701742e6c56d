"""Failures of dual write, where KRaft is always right and ZooKeeper may silently fall behind.

The lag metric shows 0 while the migration driver is stuck, so progress is the offset in `/migration` compared with the
end of the log. All cases were measured on 3.9.2 (docs/proof/migration.md); the order of a hash map decides which SCRAM
users a replay loses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.findings import Finding, blocker, blockers, warning
from kafkactl.core.wording import some
from kafkactl.metadata.image.model import CLIENT_METRICS_CONFIG, Image, QuotaEntity, ScramKey
from kafkactl.metadata.replay.scram import apply_in_one_go
from kafkactl.migration.checks.case import CheckCase, Row, Said, Stage, Unknown
from kafkactl.migration.compare.comparison import OTHER_THAN_TOPICS, compare_observation
from kafkactl.migration.compare.configs import CLIENT_QUOTA
from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.state.evidence import metric
from kafkactl.migration.steps.m6 import ENSEMBLE_FIRST
from kafkactl.migration.zktree.values import ZkTopic

_STUCK_RECORDS: Final = 20  # ten seconds of no-ops
_STUCK_MS: Final = 10_000
_TOPIC, _PARTITION, _REMOVE_TOPIC, _SCRAM, _REMOVE_SCRAM = 2, 3, 9, 11, 22


def _driver(case: CheckCase) -> Said:
    """Check the driver's progress: no-ops alone move /migration twice a second."""
    migration = None if case.tree is None else case.tree.migration
    end = _end_of_log(case)
    if migration is None or end is None:
        yield Unknown("/migration and the end of the metadata log were not both observed: how far ZooKeeper is behind"
                      " is unknown")  # fmt: skip
        return
    behind, age_ms = end - migration.metadata_offset, case.evidence.dual_write.age_ms
    if migration.metadata_offset <= 0:
        yield blocker(
            "migration-znode-incomplete",
            "/migration",
            "the copy is done, and it does not say so: the driver stays inactive, and nothing reaches ZooKeeper",
            metadata_offset=migration.metadata_offset,
        )
    elif _is_stuck(case) and age_ms is not None:
        yield blocker(
            "migration-driver-stuck",
            "/migration",
            f"/migration is at {migration.metadata_offset} for {age_ms // 1000} s, and the log is {behind} "
            "records ahead:"
            " changes do not reach ZooKeeper, whatever ZkWriteBehindLag shows",
            ENSEMBLE_FIRST if case.observation.is_zookeeper_read_only else "",
            metadata_offset=migration.metadata_offset,
            log_offset=end,
            age_ms=age_ms,
        )
    elif behind > _STUCK_RECORDS:
        yield warning(
            "zookeeper-behind",
            "/migration",
            f"/migration is {behind} records behind the log",
            metadata_offset=migration.metadata_offset,
            log_offset=end,
        )


def _end_of_log(case: CheckCase) -> int | None:
    """Return the offset of the last record: as the leader reported it with everything else, or of the fetched log."""
    if case.quorum is not None and case.quorum.high_watermark is not None:
        return case.quorum.high_watermark - 1
    return None if case.log is None else case.log.last_offset


def _is_stuck(case: CheckCase) -> bool:
    """Return True if /migration does not advance.

    It is far behind, and was not written for longer than twenty no-ops take.
    """
    migration = None if case.tree is None else case.tree.migration
    end = _end_of_log(case)
    age_ms = case.evidence.dual_write.age_ms
    if migration is None or end is None or age_ms is None:
        return False
    return age_ms > _STUCK_MS and end - migration.metadata_offset > _STUCK_RECORDS


def _lag_metric(case: CheckCase) -> Iterator[Finding]:
    """Report a large ZkWriteBehindLag, which grows while ZooKeeper is slow or unreachable."""
    for node in case.controllers:
        lag = metric(node, "ZkWriteBehindLag")
        if lag is not None and lag > _STUCK_RECORDS:
            yield warning(
                "zookeeper-write-lag",
                node.name,
                f"ZkWriteBehindLag is {int(lag)}: ZooKeeper is slow or away",
                lag=int(lag),
            )


def _client_metrics(case: CheckCase) -> Said:
    """Report client metrics (D4): accepted everywhere, but the driver of the next controller that starts is stuck."""
    image = _whole(case)
    if image is None:
        seen = "not observed" if case.image is None else "observed and some of its records cannot be read"
        yield Unknown(f"the metadata log was {seen}: what KRaft has, and ZooKeeper has not, is not known")
        return
    names = [name for kind, name in image.configs if kind == CLIENT_METRICS_CONFIG]
    if names:
        yield blocker(
            "client-metrics-in-dual-write",
            f"client-metrics {some(names)}",
            "ZooKeeper has no such configs: at the next start of a controller the driver is stuck, and nothing more"
            " reaches ZooKeeper",
            names=names[:20],
        )


def _whole(case: CheckCase) -> Image | None:
    """Return the image.

    None if records of its log are missing, because nothing follows from what such an image lacks.
    """
    return None if case.log is None or blockers(case.log.findings) else case.image


def _quotas(case: CheckCase) -> Iterator[Finding]:
    """Report quotas (D5): the last one of a client id, an ip or a user with a client id is removed in KRaft only."""
    image = _whole(case)
    if image is None or case.tree is None:
        return
    left = [
        _quota_name(entity)
        for entity, values in case.tree.client_quotas.items()
        if values and entity not in image.client_quotas
    ]
    if left:
        yield blocker(
            "quota-removal-not-mirrored",
            some(left),
            f"KRaft has no quota of it any more, and ZooKeeper still has {len(left)}: the driver failed at the removal,"
            " and with it at everything else of that moment",
            entities=sorted(left)[:20],
        )


def _quota_name(entity: QuotaEntity) -> str:
    return " ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in entity)


def _topics(case: CheckCase) -> Iterator[Finding]:
    """Report topics that only one side has (D2, D3, split brain)."""
    image, tree, raw = _whole(case), case.tree, case.observation.tree
    if image is None or tree is None or raw is None or not ("/brokers/topics" in raw.znodes or tree.topics):
        return
    done = -1 if tree.migration is None else tree.migration.metadata_offset
    late = set() if _is_stuck(case) else _not_yet_mirrored(case.log, done)
    recreated, grown, only_kraft = [], [], []
    for name, id in image.topic_ids.items():
        topic = tree.topics.get(name)
        if str(id) in late or {name, f"/brokers/topics/{name}", "/brokers/topics"} & set(tree.hidden):
            continue
        if topic is None:
            only_kraft.append(name)
        elif topic.id is not None and topic.id != id:
            recreated.append(name)
        elif _without_state(topic, image.topics[id].partitions):
            grown.append(name)
    gone = set(tree.pending_deletions)
    only_zookeeper = [name for name in tree.topics if name not in image.topic_ids and name not in gone and not late]
    yield from _of_topics(recreated, grown, only_kraft, only_zookeeper)


def _without_state(topic: ZkTopic, partitions: Mapping[int, object]) -> bool:
    return any(number not in topic.partitions or topic.partitions[number].state is None for number in partitions)


def _not_yet_mirrored(log: LogFacts | None, done: int) -> set[str]:
    """Return the ids of topics that were made, grown or removed after the mirrored offset, which are not late yet."""
    records = () if log is None else log.since_copy
    return {
        str(record.record.data["TopicId"])
        for record in records
        if record.offset > done and record.record.api_key in (_TOPIC, _PARTITION, _REMOVE_TOPIC)
    }


def _of_topics(
    recreated: list[str], grown: list[str], only_kraft: list[str], only_zookeeper: list[str]
) -> Iterator[Finding]:
    if recreated:
        yield blocker(
            "recreated-topic-not-mirrored",
            some(recreated),
            f"{some(recreated)} was recreated while ZooKeeper did not follow: ZooKeeper has the old one, the next sync"
            " deletes it there, and a rollback loses it",
            topics=recreated[:20],
        )
    if grown:
        yield blocker(
            "partitions-not-mirrored",
            some(grown),
            f"{some(grown)} has partitions without a state in ZooKeeper: the migration driver fails at every sync",
            topics=grown[:20],
        )
    if only_kraft:
        yield blocker(
            "topic-not-mirrored",
            some(only_kraft),
            f"KRaft has {len(only_kraft)} topics that ZooKeeper does not have: a rollback now would lose them",
            topics=only_kraft[:20],
        )
    if only_zookeeper:
        yield blocker(
            "topic-only-in-zookeeper",
            some(only_zookeeper),
            f"ZooKeeper has {len(only_zookeeper)} topics that KRaft does not have: they were made past the KRaft"
            " controller, or their deletion was not mirrored, and the next sync deletes them",
            topics=only_zookeeper[:20],
        )


def _other_than_topics(case: CheckCase) -> Iterator[Finding]:
    """Compare configs, quotas, credentials, ACLs and tokens.

    Writes of KRaft while its ZooKeeper session ended are lost there, and removing a credential can remove others; no
    metric shows it.
    """
    if _whole(case) is None or case.tree is None:
        return
    found = compare_observation(case.observation, values=case.tree, comparisons=OTHER_THAN_TOPICS).unexplained
    odd = [
        difference for difference in found if difference.entity != CLIENT_QUOTA or difference.kraft is not None
    ]  # what is left of one is D5
    if odd:
        names = some(f"{difference.entity} {difference.key}" for difference in odd)
        yield blocker(
            "zookeeper-and-kraft-differ",
            "metadata",
            f"{names}: ZooKeeper and KRaft do not say the same, and nothing explains it",
            differences=len(odd),
        )


def _scram(case: CheckCase) -> Said:
    """Yield a finding if one read of the log can lose the users of a SCRAM mechanism.

    The removal of one user is enough (ScramDelta).
    """
    if case.log is None:
        yield Unknown("the metadata log was not observed: whether SCRAM users were removed is not known")
        return
    removed = case.log.scram_removed_since_snapshot
    if not removed:
        return
    lost = lost_on_replay(case.log)
    users = sorted({removal.user for removal in removed})
    if lost:
        names = sorted({user for _, user in lost})
        yield blocker(
            "scram-users-lost-on-restart",
            some(names),
            f"{some(users)} was removed, and every node that starts now forgets {len(lost)} other credentials; a"
            " controller that starts deletes them in ZooKeeper, too",
            users=names[:20],
            removed=users[:20],
        )
    else:
        yield warning(
            "scram-removed-in-dual-write",
            some(users),
            f"{some(users)} was removed since the last snapshot; with the present names no other user is lost, "
            "which the next"
            " removal can change",
            removed=users[:20],
        )


def lost_on_replay(log: LogFacts) -> tuple[ScramKey, ...]:
    """Return each (mechanism.

    User) that a node loses if it replays this log from its newest snapshot, or from its start.
    """
    changes = _scram_changes(log)
    found: list[ScramKey] = []
    for mechanism, users in changes.items():
        now = {name for kind, name in log.image.scram if kind == mechanism}
        held = _held_before(log, mechanism, users, now)
        found += [(mechanism, name) for name in sorted(now - set(apply_in_one_go(held, users)))]
    return tuple(found)


def _scram_changes(log: LogFacts) -> dict[int, dict[str, bool | None]]:
    """Return the changes by mechanism and user, in the order of the first record.

    True for a credential, None for a removal.
    """
    begin = log.snapshot_end_offset or 0
    records = [record.record for record in log.since_copy if record.offset >= begin]
    if log.copy_begin is not None and log.copy_begin >= begin:
        records = [*log.copy_records, *records]
    changes: dict[int, dict[str, bool | None]] = {}
    for record in records:
        if record.api_key in (_SCRAM, _REMOVE_SCRAM):
            changes.setdefault(record.data["Mechanism"], {})[record.data["Name"]] = (
                True if record.api_key == _SCRAM else None
            )
    for removal in log.scram_removed_since_snapshot:  # those behind the end of the migration
        changes.setdefault(removal.mechanism, {}).setdefault(removal.user, None)
    return changes


def _held_before(log: LogFacts, mechanism: int, changes: Mapping[str, bool | None], now: set[str]) -> dict[str, bool]:
    """Return a mechanism's users at the start of the replay: unchanged ones, and those removed out of a snapshot."""
    removed = {removal.user for removal in log.scram_removed_since_snapshot if removal.mechanism == mechanism}
    from_snapshot = removed if log.snapshot_end_offset is not None else set()
    return dict.fromkeys(sorted((now - set(changes)) | from_snapshot), True)


_DUAL: Final = frozenset({Stage.DUAL})

ROWS: Final = (
    Row("X-3", "dual-write-progress-unknown", "ZooKeeper follows", _DUAL, _driver),
    Row("X-3", "dual-write-lag-unknown", "lag of ZooKeeper", _DUAL, _lag_metric),
    Row("X-3-D4", "client-metrics-unknown", "no client-metrics configs", _DUAL, _client_metrics),
    Row("X-3-D5", "mirrored-quotas-unknown", "no quota left behind", _DUAL, _quotas),
    Row("X-3-D2", "mirrored-topics-unknown", "the same topics on both sides", _DUAL, _topics),
    Row("X-3", "mirrored-data-unknown", "the same of everything else on both sides", _DUAL, _other_than_topics),
    Row("X-5.1", "scram-users-unknown", "SCRAM users survive a restart", frozenset({Stage.DUAL, Stage.FINAL}), _scram),
)
