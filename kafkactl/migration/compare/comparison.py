"""ZooKeeper against KRaft, entity by entity: the gate before a migration is finalized, and before a rollback.

Both directions at once: what only one side has is a difference, whichever it is. Order of the answer: what nothing
explains first, then by entity and key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, TypedDict

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import Image
from kafkactl.migration.compare import access as compare_access
from kafkactl.migration.compare import cluster as compare_cluster
from kafkactl.migration.compare import configs as compare_configs
from kafkactl.migration.compare import topics as compare_topics
from kafkactl.migration.compare.case import REDACTED, Answer, Case, Difference, Unknown
from kafkactl.migration.compare.configs import CLIENT_QUOTA, SCRAM
from kafkactl.migration.compare.phase import Evidence, Phase, PhaseFacts, explained, phase_of
from kafkactl.migration.observed.log_facts import Mirror
from kafkactl.migration.observed.observation import NodeSeen, Observation
from kafkactl.migration.state.evidence import cluster_time_ms
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.password_encoder import SECRET_KEYS
from kafkactl.migration.zktree.settings import DEFAULT_NAME, desanitize
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.migration.zktree.znode import Hidden

_IBP: Final = "inter.broker.protocol.version"
# What Kafka cannot read, by the finding of the tree: the entity that is lost with it.
_UNREADABLE: Final = {
    "broken-config-znode": CLIENT_QUOTA,  # those of topics and brokers are reported if they are compared
    "config-znode-ignored": CLIENT_QUOTA,
    "quota-not-a-number": CLIENT_QUOTA,
    "broken-scram-credential": SCRAM,
    "broken-topic-znode": compare_topics.TOPIC,
    "unreadable-topic-znode": compare_topics.TOPIC,
    "broken-partition-state-znode": compare_topics.PARTITION,
    "partition-state-ignored": compare_topics.PARTITION,
    "broken-acl-znode": compare_access.ACL,
    "acl-znode-ignored": compare_access.ACL,
    "broken-delegation-token-znode": compare_access.TOKEN,
    "delegation-token-ignored": compare_access.TOKEN,
    "broken-producer-id-block-znode": compare_cluster.PRODUCER_IDS,
    "broken-broker-znode": compare_cluster.BROKER,
}
_NAMED: Final = 5
EntityComparison = Callable[[Case], Iterator[Answer]]
_ENTITIES: Final[tuple[EntityComparison, ...]] = (
    compare_cluster.cluster_id,
    compare_cluster.features,
    compare_cluster.brokers,
    compare_topics.topics,
    compare_topics.topic_configs,
    compare_configs.broker_configs,
    compare_configs.other_configs,
    compare_configs.quotas,
    compare_configs.scram_credentials,
    compare_access.acls,
    compare_access.tokens,
    compare_cluster.producer_ids,
)
# What lies outside of the topics: few in any cluster, so that they are compared in every observation.
OTHER_THAN_TOPICS: Final[tuple[EntityComparison, ...]] = (
    compare_topics.topic_configs,
    compare_configs.broker_configs,
    compare_configs.quotas,
    compare_configs.scram_credentials,
    compare_access.acls,
    compare_access.tokens,
)


class EntityCount(TypedDict):
    """Number of differences of an entity."""

    unexplained: int
    explained: int
    unknown: int


@frozen
class CompareFacts:
    """Facts in addition to the two sides; each may be left out.

    `copied`, `inter_broker_protocol`, `cluster_ids` and `secrets` are as in `Case`; without `mirror` nothing is
    explained by the mirror's own lag.
    """

    phase: PhaseFacts = PhaseFacts()
    mirror: Mirror | None = None
    time_ms: int | None = None
    copied: frozenset[tuple[Uuid, int]] | None = field(default=None, repr=False)
    inter_broker_protocol: Mapping[int, str] = field(default_factory=dict)
    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)


@frozen
class Comparison:
    """The answer. `compared` is false if one of the sides is not there, and then nothing is equal or different."""

    phase: Phase
    compared: bool
    differences: tuple[Difference, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """Return the differences that nothing explains: each stops the migration."""
        return tuple(difference for difference in self.differences if difference.explained is None)

    @property
    def counts(self) -> dict[str, EntityCount]:
        """Return the number of unexplained, explained and unknown differences of each entity."""
        found: dict[str, Counter[str]] = {}
        for difference in self.differences:
            found.setdefault(difference.entity, Counter())[
                "unexplained" if difference.explained is None else "explained"
            ] += 1
        for other in self.unknown:
            found.setdefault(other.entity, Counter())["unknown"] += 1
        return {
            entity: {"unexplained": count["unexplained"], "explained": count["explained"], "unknown": count["unknown"]}
            for entity, count in sorted(found.items())
        }


def compare(tree: Tree, image: Image, facts: CompareFacts = CompareFacts()) -> tuple[Difference, ...]:  # noqa: B008
    """Return all differences between a ZooKeeper tree and an image; () if they are equal."""
    return compared(tree, image, facts).differences


def compared(
    tree: Tree,
    image: Image,
    facts: CompareFacts = CompareFacts(),  # noqa: B008
    *,
    values: KafkaTree | None = None,
    comparisons: tuple[EntityComparison, ...] = _ENTITIES,
) -> Comparison:
    """Return the differences, and what could not be compared.

    `values` are those of the tree, if it was read already.
    """
    case = _case(tree, image, facts, values)
    answers = list(_answers(case, comparisons))
    differences = [unknown for unknown in answers if isinstance(unknown, Difference)]
    evidence = Evidence()
    if differences:
        evidence = Evidence(
            at_mirror=_at_mirror(case, facts.mirror, comparisons),
            behind_ms=0 if facts.mirror is None else facts.mirror.behind_ms,
            written_ms={path: znode.mtime_ms for path, znode in tree.znodes.items()},
        )
    all_differences = explained(differences, facts.phase, evidence)
    unknown = tuple(difference for difference in answers if isinstance(difference, Unknown))
    return Comparison(
        phase=phase_of(facts.phase),
        compared=True,
        differences=tuple(sorted(all_differences, key=lambda difference: difference.explained is not None)),
        unknown=unknown,
        findings=(*_findings(facts.phase, all_differences), *_unknown_findings(unknown)),
    )


def _at_mirror(
    case: Case, mirror: Mirror | None, comparisons: tuple[EntityComparison, ...]
) -> frozenset[tuple[str, str]] | None:
    if mirror is None:
        return None
    earlier = _answers(changed(case, image=mirror.image), comparisons)
    return frozenset(
        (difference.entity, difference.key) for difference in earlier if isinstance(difference, Difference)
    )


def compare_observation(
    observation: Observation, *, values: KafkaTree | None = None, comparisons: tuple[EntityComparison, ...] = _ENTITIES
) -> Comparison:
    """Compare the two sides of an observed cluster: the one answer for `compare`, a rollback, and the end."""
    log = observation.log
    missing = [what for what, held in (("znodes", observation.tree), ("metadata log", log)) if held is None]
    if observation.tree is None or log is None:
        text = f"the observation has no {' and no '.join(missing)}: there is nothing to compare"
        finding = warning("comparison-impossible", "observation", text)
        return Comparison(phase=Phase.UNKNOWN, compared=False, findings=(finding,))
    brokers = observation.brokers
    return compared(
        observation.tree,
        log.image,
        CompareFacts(
            phase=phase_facts(observation),
            mirror=observation.mirror,
            time_ms=cluster_time_ms(observation, log),
            copied=_copied(observation),
            inter_broker_protocol={
                broker.id: broker.config[_IBP].strip()
                for broker in brokers
                if broker.config and _is_on_zookeeper(broker)
            },
            cluster_ids=_cluster_ids(observation.controllers),
            secrets=encoder_secrets(observation.nodes),
        ),
        values=values,
        comparisons=comparisons,
    )


def _case(tree: Tree, image: Image, facts: CompareFacts, values: KafkaTree | None = None) -> Case:
    values = parse_tree(tree) if values is None else values
    closed = (path for path, znode in tree.znodes.items() if znode.hidden is Hidden.NO_PERMISSION)
    return Case(
        raw=tree,
        tree=values,
        image=image,
        time_ms=facts.time_ms,
        copied=facts.copied,
        inter_broker_protocol=facts.inter_broker_protocol,
        cluster_ids=facts.cluster_ids,
        secrets=facts.secrets,
        hidden=frozenset(values.hidden),
        closed=tuple(sorted(path if path == "/" else f"{path}/" for path in closed)),
        unreadable={finding.subject: finding.message for finding in values.findings if finding.id in _UNREADABLE},
    )


def _answers(case: Case, comparisons: tuple[EntityComparison, ...]) -> Iterator[Answer]:
    reported = set()
    for entity in comparisons:
        for answer in entity(case):
            reported.add(answer.znode if isinstance(answer, Difference) else None)
            yield answer
    if comparisons is not _ENTITIES:
        return
    # What neither side has because it cannot be read; it was written once.
    for finding in case.tree.findings:
        if finding.id in _UNREADABLE and finding.subject not in reported:
            reported.add(finding.subject)
            entity_of, left = _UNREADABLE[finding.id], {"unreadable": finding.message}
            yield Difference(entity=entity_of, key=finding.subject, znode=finding.subject, zookeeper=left, kraft=None)


def phase_facts(observation: Observation) -> PhaseFacts:
    """Return the facts of an observation that decide about the phase."""
    tree, log = observation.tree, observation.log
    values = None if tree is None else parse_tree(_part(tree, ("/controller", "/migration")))
    holder = None if values is None else values.controller
    controllers = observation.controllers
    return PhaseFacts(
        state=None if log is None else log.image.zk_migration_state or log.migration_state,
        kraft_holds=None if holder is None else holder.is_kraft,
        migration_offset=None if values is None or values.migration is None else values.migration.metadata_offset,
        controllers_gone=bool(controllers) and all(controller.alive is False for controller in controllers),
        last_offset=None if log is None else log.last_offset,
        log_end_ms=None if log is None else log.last_ms,
    )


def _part(tree: Tree, paths: Iterable[str]) -> Tree:
    kept = {path: tree.znodes[path] for path in paths if path in tree.znodes}
    return Tree(chroot=tree.chroot, znodes=kept, names={})


def _copied(observation: Observation) -> frozenset[tuple[Uuid, int]] | None:
    log = observation.log
    if log is None or not log.copy_records:
        return None
    partitions = (record.data for record in log.copy_records if record.type == "PartitionRecord")
    return frozenset((partition["TopicId"], partition["PartitionId"]) for partition in partitions)


def _is_on_zookeeper(node: NodeSeen) -> bool:
    """Return True if the file is that of a broker on ZooKeeper and contains the protocol version."""
    return node.config is not None and "process.roles" not in node.config and _IBP in node.config


def _cluster_ids(nodes: Iterable[NodeSeen]) -> dict[str, str]:
    found = {node.name: (node.meta_properties or {}).get("cluster.id") for node in nodes}
    return {name: id for name, id in found.items() if id is not None}


def encoder_secrets(nodes: Iterable[NodeSeen]) -> tuple[str, ...]:
    """Return the encoder secrets of all nodes, for the one that encrypted a value; without those that are not shown."""
    given = (node.config.get(key) for node in nodes if node.config is not None for key in SECRET_KEYS)
    return tuple(dict.fromkeys(text for text in given if text and text != REDACTED))


def _findings(facts: PhaseFacts, differences: Sequence[Difference]) -> Iterator[Finding]:
    phase = phase_of(facts)
    if phase is Phase.BEFORE_COPY:
        text = (
            "ZooKeeper has not been copied yet, so entities only in ZooKeeper are not differences; compare "
            "after the copy"
        )
        yield note("comparison-before-copy", "comparison", text)
    if phase is Phase.STALE_MIRROR:
        text = (
            "a KRaft controller mirrors its image to ZooKeeper without having copied it (/migration is from an earlier"
            " attempt): what only ZooKeeper has is about to be deleted there"
        )
        yield blocker("mirror-without-copy", "/migration", text, offset=facts.migration_offset)
    if phase is Phase.UNKNOWN:
        text = "the log does not say where the migration stands, so no phase explains a difference"
        yield warning("comparison-phase-unknown", "comparison", text, state=facts.state)
    escaped = [difference.key for difference in copied_escaped(differences)]
    if escaped:
        text = (
            f"{len(escaped)} names of users and clients are in KRaft as ZooKeeper writes them ({escaped[0]} …): their"
            " quotas and credentials apply to other names (KAFKA-16222)"
        )
        yield blocker("names-copied-escaped", "comparison", text, count=len(escaped), first=escaped[:_NAMED])
    taken = [
        difference.key
        for difference in differences
        if isinstance(difference.kraft, dict) and compare_configs.CIPHER_TEXT in difference.kraft.values()
    ]
    if taken:
        text = (
            "KRaft holds an encrypted password as if it were the password: the controllers that made the copy had no"
            " password.encoder.secret"
        )
        yield blocker("password-copied-encrypted", f"broker config {taken[0]}", text, entities=taken[:_NAMED])


def copied_escaped(differences: Iterable[Difference]) -> list[Difference]:
    """Return what only KRaft has, and only ZooKeeper has without the escapes (a default: as an empty name.

    KAFKA-16222).
    """
    named = [
        difference
        for difference in differences
        if difference.entity in (CLIENT_QUOTA, SCRAM) and difference.znode is not None
    ]
    lost = {difference.znode for difference in named if difference.kraft is None}
    return [
        difference
        for difference in named
        if difference.zookeeper is None and _unescaped(difference.znode or "") in lost
    ]


def _unescaped(path: str) -> str:
    return "/".join([*path.split("/")[:3], *((desanitize(part) or DEFAULT_NAME) for part in path.split("/")[3:])])


def _unknown_findings(unknown: tuple[Unknown, ...]) -> Iterator[Finding]:
    if unknown:
        named = [f"{value.entity} {value.key}: {value.reason}" for value in unknown[:_NAMED]]
        count = "one value was" if len(unknown) == 1 else f"{len(unknown)} values were"
        text = f"{count} not compared, because the observation does not show what they are ({named[0]} …)"
        yield warning("comparison-incomplete", "comparison", text, count=len(unknown), first=named)
