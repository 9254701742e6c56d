"""C-01 to C-08: is it one cluster, and do its versions and levels go together?

Rules: core `KafkaConfig.validateValues`, `ActivationRecordsGenerator`, `ClusterControlManager.registerBroker`,
`KRaftVersion` of 3.9; that each breach ends as said was measured on 3.9.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.migration.checks.bugs import Bug, bugs_of
from kafkactl.migration.checks.case import (
    CLAIMED,
    FORWARD,
    ON_ZOOKEEPER,
    UNFINISHED,
    CheckCase,
    Row,
    Said,
    Stage,
    Unknown,
)
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.release_rules import first_recommended, migration_rules, numbers_of
from kafkactl.migration.observed.settings import (
    BOOTSTRAP,
    VOTERS,
    dynamic_quorum,
    given,
    ibp_level,
    is_hidden,
    is_zookeeper_broker,
    level_name,
    log_dirs,
    release_of,
    version_of,
)
from kafkactl.migration.state.identity import cluster_id_mismatch, disk_of_another_cluster, is_known
from kafkactl.migration.state.unknown import different_clusters

_FLOOR: Final = 8  # 3.4-IV0: MetadataVersion.isMigrationSupported
_TRANSACTION_FLOOR: Final = 13  # 3.6-IV1: metadata transactions, asked for since KAFKA-17457
_TOKEN_FLOOR: Final = 14  # 3.6-IV2
_SCRAM_FLOOR: Final = 11  # 3.5-IV2
_JBOD_FLOOR: Final = 17  # 3.7-IV2
_DYNAMIC_FLOOR: Final = 21  # 3.9-IV0: kraft.version 1


def _cluster_id(case: CheckCase) -> Said:
    """Check C-01: controllers of another cluster start and answer "ready"; Kafka compares the two ids too late."""
    expected = None if case.tree is None else case.tree.cluster_id
    seen = [(node, (node.meta_properties or {}).get("cluster.id")) for node in case.observation.nodes]
    reported = [(node, id) for node, id in seen if id]
    if expected is None:
        if len({id for _, id in reported}) > 1:
            named = ", ".join(f"{node.name}: {id}" for node, id in reported)
            yield cluster_id_mismatch("nodes", f"their meta.properties name different clusters ({named})")
            return
        yield Unknown("the id of the cluster in ZooKeeper (/cluster/id) was not observed")
        return
    yield from (
        disk_of_another_cluster(node, id, expected) for node, id in reported if id != expected and node in case.brokers
    )
    unformatted = case.stage is Stage.BEFORE  # so controllers may be
    silent = []
    for node, id in seen:
        if id or (unformatted and node in case.controllers):
            continue
        if node.meta_properties and node in case.brokers and case.stage in ON_ZOOKEEPER:
            yield note(
                "broker-without-cluster-id",
                node.name,
                f"meta.properties of {node.name} has no cluster.id, as Kafka before 0.10.1 wrote it; the next start of"
                f" the broker adds {expected}, the id in /cluster/id",
                "Leave the file as it is.",
            )
            continue
        silent.append(node.name)
    if silent:
        yield Unknown(f"meta.properties of {', '.join(silent)} was not observed")


def _strangers(case: CheckCase) -> Said:
    """Check C-01 for the observation: the log of one cluster and the znodes of another."""
    yield from different_clusters(case.evidence)


def _who_they_are(case: CheckCase) -> Said:
    """Check C-01 by asking every node for its identity, and compare the inventory with every source of node ids."""
    yield from case.evidence.identities.findings
    for node in case.observation.nodes:
        if node.alive is True and node.identity is not None and not is_known(node):
            yield Unknown(f"which node answers at {node.address}, where the inventory has {node.name}, is unknown")


def _versions(case: CheckCase) -> Said:
    """Check C-03: all nodes run one release, new enough; and report the release's known bugs."""
    versions = [(node, version_of(node)) for node in case.observation.nodes]
    known = [(node, version) for node, version in versions if version is not None]
    # Before its first start the version that a controller will run is unknown.
    asked = case.brokers if case.stage is Stage.BEFORE else case.observation.nodes
    silent = [node.name for node in asked if version_of(node) is None]
    if silent:
        yield Unknown(f"the version of {', '.join(silent)} was not observed")
    distinct = sorted({version for _, version in known}, key=str)
    if len(distinct) > 1:
        named = ", ".join(f"{node.name} {version}" for node, version in known)
        yield warning(
            "nodes-of-several-releases",
            "nodes",
            f"the nodes run different versions: {named}",
            versions=[str(version) for version in distinct],
        )
    for version in distinct:
        # If the patch is not known, only what every patch lacks is reported.
        at = numbers_of(version)
        nodes = [node.name for node, running in known if running == version]
        if not migration_rules(at).migrates:
            yield blocker(
                "release-cannot-migrate",
                ", ".join(nodes),
                f"Kafka {version} has no migration from ZooKeeper",
                version=str(version),
            )
            continue
        if version.patch is None and bugs_of(at) != bugs_of((*at[:2], 0)):
            yield Unknown(
                f"which patch of {version} {', '.join(nodes)} run is not known, and corrections came with patches"
            )
        yield from _bugs(case, str(version), at, nodes)


def _bugs(case: CheckCase, version: str, at: tuple[int, int, int], nodes: list[str]) -> Iterator[Finding]:
    found = bugs_of(at)
    if not found:
        return
    kept = _contents(case)
    losing = [bug for bug in found if bug.loses in kept]
    if losing and case.stage in FORWARD:
        yield blocker(
            "release-loses-data-in-migration",
            ", ".join(nodes),
            f"Kafka {version} loses what this cluster has: "
            + "; ".join(f"{bug.issue}: {bug.effect}" for bug in losing),
            issues=[bug.issue for bug in losing],
        )
    text = f"Kafka {version} lacks {len(found)} corrections of the migration"
    if not migration_rules(at).is_recommended:
        text += f", and is older than {first_recommended()}, the oldest that should be tried"
    yield warning(
        "release-with-migration-bugs",
        ", ".join(nodes),
        f"{text}: {_listed(found)}",
        issues=[bug.issue for bug in found],
    )


def _listed(bugs: Iterable[Bug]) -> str:
    return "; ".join(f"{bug.issue} ({bug.effect})" for bug in bugs)


def _contents(case: CheckCase) -> frozenset[str]:
    """Return the kinds of data that the cluster has, by the names in the table of bugs."""
    tree = case.tree
    if tree is None:
        return frozenset()
    kinds = {
        "acls": tree.acls,
        "scram": tree.scram,
        "tokens": tree.delegation_tokens,
        "encrypted-configs": any(
            "encryptedPassword:" in text for config in tree.broker_configs.values() for text in config.values()
        ),
    }
    return frozenset(name for name, held in kinds.items() if held)


def _ibp(case: CheckCase) -> Said:
    """Check C-04: inter.broker.protocol.version is equal on all nodes and high enough for the cluster's data."""
    brokers = [broker for broker in case.brokers if is_zookeeper_broker(broker)]
    levels = [(broker, ibp_level(broker)) for broker in brokers]
    known = [(node, level) for node, level in levels if level is not None]
    silent = [node.name for node, level in levels if level is None]
    if silent:
        yield Unknown(f"inter.broker.protocol.version of {', '.join(silent)} was not observed")
    if len({level for _, level in known}) > 1:
        named = ", ".join(f"{node.name} {level_name(level)}" for node, level in known)
        yield blocker(
            "inter-broker-protocol-differs",
            "brokers",
            f"inter.broker.protocol.version differs between brokers: {named}",
            levels=sorted({level for _, level in known}),
        )
    for node, level in known:
        yield from _floors(case, node, level)
    message_format = [broker.name for broker in brokers if given(broker, "log.message.format.version")]
    if message_format:
        yield warning(
            "message-format-version-set",
            ", ".join(message_format),
            "log.message.format.version is set; it is ignored from inter.broker.protocol.version 3.0 on",
        )


def _floors(case: CheckCase, node: NodeSeen, level: int) -> Iterator[Finding]:
    version = version_of(node)
    # Without a patch, only what every patch does.
    asks_transactions = (
        version is None or migration_rules((version.major, version.minor, version.patch or 0)).needs_transactions
    )
    tree = case.tree
    floors = (
        (_FLOOR, True, "a broker in migration mode does not start"),
        (_TRANSACTION_FLOOR, asks_transactions, "the controllers refuse to begin a migration (KAFKA-17457)"),
        (
            _JBOD_FLOOR,
            len(log_dirs(node)) > 1,
            "a broker with several log directories does not start in migration mode",
        ),
        (_TOKEN_FLOOR, tree is not None and bool(tree.delegation_tokens), "delegation tokens cannot be migrated"),
        (_SCRAM_FLOOR, tree is not None and bool(tree.scram), "SCRAM credentials cannot be migrated"),
    )
    broken = [(floor, then) for floor, holds, then in floors if holds and level < floor]
    if broken:
        highest = max(floor for floor, _ in broken)
        yield blocker(
            "jbod-before-3-7-iv2" if highest == _JBOD_FLOOR else "inter-broker-protocol-too-old",
            node.name,
            f"its inter.broker.protocol.version is {level_name(level)}; below {level_name(highest)} "
            + "; ".join(then for _, then in broken),
            f"Raise inter.broker.protocol.version on all brokers to {level_name(highest)} or later, one restart each.",
            level=level,
            needed=highest,
        )


def _cure_of_level(case: CheckCase) -> str:
    """Return the way to equal levels. Once anything may be copied, the quorum has the only metadata of its kind."""
    brokers = "set inter.broker.protocol.version on all brokers to the quorum's metadata.version, and restart them"
    if case.stage not in FORWARD or case.claimed:
        return brokers[0].upper() + brokers[1:] + "."
    return (
        f"Nothing is copied yet: end this attempt with `kafkactl migrate rollback` and format the controllers with"
        f" --release-version of the brokers' level; or {brokers}."
    )


def _metadata_version(case: CheckCase) -> Said:
    """Check C-05: a migrating broker registers [IBP, IBP] for metadata.version; the finalized level is within it."""
    finalized = case.metadata_version
    if finalized is None:
        if case.stage is not Stage.BEFORE or any(controller.meta_properties for controller in case.controllers):
            yield Unknown("the quorum's metadata.version was not observed")
        return
    for node in case.brokers:
        level = ibp_level(node) if is_zookeeper_broker(node) else None
        if level is not None and level != finalized:
            yield blocker(
                "inter-broker-protocol-not-metadata-version",
                node.name,
                f"inter.broker.protocol.version of {node.name} is {level_name(level)}, and the quorum's"
                f" metadata.version is {level_name(finalized)}: the broker is never registered, because both must be"
                " equal",
                _cure_of_level(case),
                inter_broker_protocol=level,
                metadata_version=finalized,
            )
    releases = [release_of(controller) for controller in case.controllers]
    asked = any(release is not None and migration_rules(release.numbers).needs_transactions for release in releases)
    if case.stage is Stage.BEFORE and finalized < (_TRANSACTION_FLOOR if asked else _FLOOR):
        yield blocker(
            "metadata-version-too-old",
            "quorum",
            f"the quorum's metadata.version is {level_name(finalized)}, and a migration requires"
            f" {level_name(_TRANSACTION_FLOOR if asked else _FLOOR)}: the controllers would not start with the flag",
            metadata_version=finalized,
        )


def _features(case: CheckCase) -> Said:
    """Check C-06: /feature is not migrated, so that its finalized features would be lost."""
    if case.tree is None:
        yield Unknown("the ZooKeeper tree was not observed")
    elif case.tree.features is not None and case.tree.features.levels:
        levels = ", ".join(f"{name} {level}" for name, level in case.tree.features.levels.items())
        yield warning(
            "finalized-features-in-zookeeper",
            "/feature",
            f"/feature contains finalized features ({levels}), which are not migrated",
        )


def _quorum_kind(case: CheckCase) -> Iterator[Finding]:
    """Check C-07: a dynamic quorum (kraft.version 1) needs metadata.version 3.9-IV0; all nodes use one style."""
    level = case.metadata_version
    planned = [dynamic_quorum(controller) for controller in case.controllers]
    kraft_version = None if case.image is None else case.image.kraft_version
    is_dynamic = bool(kraft_version) or (kraft_version is None and bool(planned) and all(planned))
    if level is None:
        level = min((level for level in map(ibp_level, case.brokers) if level is not None), default=None)
    if is_dynamic and level is not None and level < _DYNAMIC_FLOOR:
        yield blocker(
            "dynamic-quorum-needs-3-9-iv0",
            "quorum",
            f"the controllers form a dynamic quorum, which needs metadata.version {level_name(_DYNAMIC_FLOOR)},"
            f" and the cluster's level is {level_name(level)}",
            level=level,
        )
    styles = {node.name: dynamic_quorum(node) for node in case.observation.nodes if dynamic_quorum(node) is not None}
    if len(set(styles.values())) > 1:
        dynamic = ", ".join(name for name, style in styles.items() if style)
        yield warning(
            "quorum-style-differs",
            "nodes",
            f"some nodes name the quorum by {VOTERS}, others by {BOOTSTRAP} ({dynamic})",
        )


def _voters(case: CheckCase) -> Iterator[Finding]:
    """Check C-07 for the voters: all nodes name the same voters, and these are the controllers."""
    named: dict[frozenset[int], list[str]] = {}
    for node in case.observation.nodes:
        text = given(node, VOTERS)
        if text is not None and not is_hidden(text):
            named.setdefault(_voter_ids(text), []).append(node.name)
    if len(named) > 1:
        listed = "; ".join(f"{', '.join(nodes)}: {sorted(ids)}" for ids, nodes in named.items())
        yield blocker("quorum-voters-differ", VOTERS, f"nodes name different voters: {listed}")
    known = {controller.id for controller in case.controllers}
    for ids, nodes in named.items():
        if known and len(named) == 1 and not ids & known:
            yield blocker(
                "quorum-voters-differ",
                ", ".join(nodes),
                f"{VOTERS} names {sorted(ids)}, and the controllers are {sorted(known)}",
            )
    yield from _voters_of_silent_nodes(case)


def _voters_of_silent_nodes(case: CheckCase) -> Iterator[Finding]:
    """Report a node that is down and names the same voters by other addresses than every node that responds.

    A controller may have several names; a node that responds has found the quorum under those that it knows.
    """
    named = {
        node.name: text for node in case.observation.nodes if (text := given(node, VOTERS)) and not is_hidden(text)
    }
    down = {node.name for node in case.observation.nodes if node.alive is False}
    working = {frozenset(_entries(text)) for name, text in named.items() if name not in down}
    for name in sorted(down & named.keys()):
        if len(working) == 1 and (others := frozenset(_entries(named[name])) - next(iter(working))):
            yield warning(
                "quorum-voters-differ",
                name,
                f"{name} does not respond, and its {VOTERS} has {', '.join(sorted(others))}, where every node that"
                f" responds has {', '.join(sorted(next(iter(working))))}",
                f"Correct {VOTERS} in the file of {name}, then start it.",
            )


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _voter_ids(text: str) -> frozenset[int]:
    return frozenset(
        int(voter.partition("@")[0]) for voter in text.split(",") if voter.partition("@")[0].strip().isdecimal()
    )


def _used_disks(case: CheckCase) -> Iterator[Finding]:
    """Check C-08: a quorum that was active before must not be started for a new attempt."""
    for id, log in case.observation.logs.items():
        used = [word for word, found in (
            ("the copy of an earlier attempt", log.copy_begin is not None or (log.migration_state or 0) == 1),
            ("registrations of brokers", bool(log.registrations)),
            (f"{len(log.image.topics)} topics", bool(log.image.topics)),
        ) if found]  # fmt: skip
        if used:
            yield blocker(
                "controller-disk-of-earlier-attempt",
                f"controller {id}",
                f"the metadata log of controller {id} holds {' and '.join(used)}, and no migration is in progress",
                last_offset=log.last_offset,
            )


ROWS: Final = (
    Row("C-01", "cluster-id-unknown", "one cluster id", frozenset(Stage), _cluster_id),
    Row("C-01", "node-identity-unknown", "every node is who it should be", frozenset(Stage), _who_they_are),
    Row("C-01", "cluster-of-log-unknown", "one cluster in ZooKeeper and the log", CLAIMED, _strangers),
    Row("C-03", "releases-unknown", "releases", UNFINISHED, _versions),
    Row("C-04", "inter-broker-protocol-unknown", "inter.broker.protocol.version", UNFINISHED, _ibp),
    Row("C-05", "quorum-metadata-version-unknown", "metadata.version of the quorum", UNFINISHED, _metadata_version),
    Row("C-06", "finalized-features-unknown", "finalized features", FORWARD, _features),
    Row("C-07", "quorum-style-unknown", "kind of quorum", UNFINISHED, _quorum_kind),
    Row("C-07", "quorum-voters-unknown", "the same voters", frozenset(Stage), _voters),
    Row("C-08", "controller-disks-unknown", "empty controllers' disks", frozenset({Stage.BEFORE}), _used_disks),
)
