"""Forecast of the copy of a tree: records, bytes, batches and time, and whether the copy completes.

Invariant: what is said of the outcome follows from findings alone, by a table, so that a new kind of poison is one word
more. Sizes are exact where every value is known. Time is a rough figure: the reads that Kafka makes of ZooKeeper, and
the batches that it waits for one by one. Measured on 3.9.2, two shared cores: 63 partitions in one batch 0.5 to 0.7 s,
10,002 in 51 batches 5.9 s, of which 36 ms a batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from kafkactl.core.findings import Finding, Severity, blocker
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.migration.copy.records import Batch, copy_batches
from kafkactl.migration.copy.rules import CopyRules
from kafkactl.migration.zktree.checks import check_tree
from kafkactl.migration.zktree.password_encoder import PasswordDecodeError, first_opening, parse_encrypted
from kafkactl.migration.zktree.settings import is_password_config
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.protocol.compiled import encoder
from kafkactl.protocol.log.frame import FRAME_VERSION, MetadataRecord
from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import HEADER_BYTES
from kafkactl.protocol.record_size import record_size
from kafkactl.protocol.schema.definitions import message

_MARKERS: Final = ("BeginTransactionRecord", "EndTransactionRecord")
_MOST_IN_A_BATCH: Final = 10_000  # more records of one write are divided (QuorumController.MAX_RECORDS_PER_BATCH)
_START_S: Final = 0.4
_READS_PER_S: Final = 4_000
_BATCH_S: Final = 0.03


class CopyOutcome(StrEnum):
    """End of a copy; of several, the later one in this list is reported.

    LOSES: it ends, and something of the tree is missing or changed. NEVER_STARTS: the controllers wait indefinitely, or
    take the copy for done. NOT_KNOWN: the tree, or what the release copies of it, is partly unknown. `EXITS`: the
    controllers take over, and each exits on it.
    """

    COMPLETES = "completes"
    LOSES = "loses"
    NEVER_STARTS = "never-starts"
    NOT_KNOWN = "not-known"
    EXITS = "dies"


_BY_FINDING: Final[Mapping[CopyOutcome, tuple[str, ...]]] = {
    CopyOutcome.EXITS: (
        "broken-acl-znode",
        "broken-config-znode",
        "broken-delegation-token-znode",
        "broken-partition-state-znode",
        "broken-producer-id-block-znode",
        "broken-scram-credential",
        "encoder-secret-wrong",
        "quota-not-a-number",
    ),
    CopyOutcome.NEVER_STARTS: (
        "broken-broker-znode",
        "broken-controller-epoch-znode",
        "broken-controller-znode",
        "broken-migration-znode",
        "broken-topic-znode",
        "empty-migration-znode",
        "replica-on-absent-broker",
        "stale-migration-znode",
    ),
    CopyOutcome.LOSES: (
        "acl-of-unknown-resource-type",
        "acl-with-unknown-word",
        "acl-znode-ignored",
        "duplicate-client-entity",
        "config-znode-ignored",
        "delegation-token-ignored",
        "duplicate-topic-id",
        "encoder-secret-missing",
        "partition-state-ignored",
        "unreadable-topic-znode",
    ),
    CopyOutcome.NOT_KNOWN: (
        "migration-release-unknown",
        "no-kafka-tree",
        "saved-tree-damaged",
        "znode-line-unreadable",
    ),
}
_OUTCOMES: Final = {id_: outcome for outcome, ids in _BY_FINDING.items() for id_ in ids}
_COPIED: Final = (
    "/brokers/topics/",
    "/config/",
    "/kafka-acl",
    "/delegation_token/tokens/",
    "/latest_producer_id_block",
)


@frozen
class CopyForecast:
    """Content of a predicted copy.

    `by_type`, `records` and `bytes` cover the records between the Begin and the End record, the ZkMigrationState record
    included; `batches` is Kafka's count, which has neither of the two.

    `is_exact` is false where values are not shown, or passwords are taken unchanged: the bytes then differ.
    """

    outcome: CopyOutcome
    records: int
    bytes: int
    by_type: Mapping[str, int]
    batches: int
    seconds: float
    is_exact: bool
    cluster_id: str | None
    sizes: Mapping[str, int]
    findings: tuple[Finding, ...]
    contents: tuple[Batch, ...]


def forecast_copy(
    tree: KafkaTree, rules: CopyRules, *, secrets: tuple[str, ...] | None = None, findings: Iterable[Finding] = ()
) -> CopyForecast:
    """Simulate the copy of a tree. `secrets` are the controllers' password.encoder.secret, new and old: empty if they
    have none, None if that is not known; `findings` those about the source of the tree.
    """
    passwords = _Passwords(secrets)
    whole = list(copy_batches(tree, rules, acl_id=_acl_id, decode_password=passwords.decoded))
    contents = tuple(batch for batch in (_without_markers(part) for part in whole) if batch)
    by_type: Counter[str] = Counter(record.type for batch in contents for record in batch)
    found = (*findings, *tree.findings, *check_tree(tree), *passwords.findings(tree))
    return CopyForecast(
        outcome=_outcome(tree, found),
        records=by_type.total(),
        bytes=sum(_size(batch) for batch in contents),
        by_type=dict(sorted(by_type.items())),
        batches=len(contents) - 1,
        seconds=round(_START_S + _reads(tree) / _READS_PER_S + len(contents) * _BATCH_S, 1),
        is_exact=passwords.all_known and not tree.hidden,
        cluster_id=tree.cluster_id,
        sizes=sizes_of(tree),
        findings=_once(found),
        contents=contents,
    )


def sizes_of(tree: KafkaTree) -> dict[str, int]:
    """Return the content of a tree in numbers."""
    return {
        "brokers": len(tree.brokers),
        "topics": len(tree.topics),
        "partitions": sum(len(topic.partitions) for topic in tree.topics.values()),
        "configs": sum(len(configs) for configs in (*tree.topic_configs.values(), *tree.broker_configs.values())),
        "acls": len(tree.acls),
        "quotas": len(tree.client_quotas),
        "scram_credentials": len(tree.scram) + len(tree.hidden_scram),
        "delegation_tokens": len(tree.delegation_tokens),
    }


def _acl_id(number: int) -> Uuid:
    """Return an id for an ACL. Kafka draws ids at random; it only matters that no two are equal."""
    return Uuid((number + 1).to_bytes(16, "big"))


def _outcome(tree: KafkaTree, findings: Iterable[Finding]) -> CopyOutcome:
    order = list(CopyOutcome)
    said = [
        _OUTCOMES[finding.id]
        for finding in findings
        if finding.id in _OUTCOMES and finding.severity is Severity.BLOCKER
    ]
    if any(path.startswith(_COPIED) and not (path.startswith("/config/") and " " in path) for path in tree.hidden):
        said.append(CopyOutcome.NOT_KNOWN)
    return max(said, key=order.index, default=CopyOutcome.COMPLETES)


def _without_markers(batch: Batch) -> Batch:
    return tuple(record for record in batch if record.type not in _MARKERS)


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    kept: list[Finding] = []
    for finding in findings:
        if finding not in kept[-50:]:
            kept.append(finding)
    return tuple(kept)


def _reads(tree: KafkaTree) -> int:
    """Return the number of requests that Kafka sends: two a topic and one a partition, one for everything else."""
    sizes = sizes_of(tree)
    others = ("brokers", "acls", "quotas", "scram_credentials", "delegation_tokens")
    return 2 * sizes["topics"] + sizes["partitions"] + sum(sizes[name] for name in others)


def _size(batch: Batch) -> int:
    """Return the size in the log, with the headers of the batches."""
    size = 0
    for at in range(0, len(batch), _MOST_IN_A_BATCH):
        part = batch[at : at + _MOST_IN_A_BATCH]
        size += HEADER_BYTES + sum(record_size(delta, None, _framed(record)) for delta, record in enumerate(part))
    return size


def _framed(record: MetadataRecord) -> bytes:
    content = encoder(message(record.type), record.version)(record.data)
    return bytes([FRAME_VERSION]) + base128(record.api_key) + base128(record.version) + content


class _Passwords:
    """Decoder of passwords with the secrets of the controllers, which remembers whether it could."""

    def __init__(self, secrets: tuple[str, ...] | None) -> None:
        self._secrets = secrets
        self.all_known = True

    def decoded(self, value: str) -> str:
        """Return the password; the value itself if Kafka would copy that, or if the password is unknown."""
        if parse_encrypted(value) is None:
            return value
        if self._secrets is None:
            self.all_known = False
            return value
        if not self._secrets:
            return value
        try:
            return first_opening(value, self._secrets)
        except PasswordDecodeError:
            self.all_known = False
            return value

    def findings(self, tree: KafkaTree) -> Iterator[Finding]:
        """Yield findings about secrets: a missing secret is silent, a wrong one ends the controller."""
        if self._secrets is None:
            return
        for broker, config in tree.broker_configs.items():
            path = f"/config/brokers/{broker or '<default>'}"
            sealed = [key for key, value in config.items() if is_password_config(key) and parse_encrypted(value)]
            if sealed and not self._secrets:
                text = f"{', '.join(sealed)} would be copied as cipher text: the controllers have no secret for them"
                yield blocker("encoder-secret-missing", path, text, keys=sealed)
            elif wrong := [key for key in sealed if not _opens(config[key], self._secrets)]:
                text = f"{', '.join(wrong)} do not open with the controllers' secret: the copy fails at them"
                yield blocker("encoder-secret-wrong", path, text, keys=wrong)


def _opens(value: str, secrets: tuple[str, ...]) -> bool:
    try:
        first_opening(value, secrets)
    except PasswordDecodeError:
        return False
    return True
