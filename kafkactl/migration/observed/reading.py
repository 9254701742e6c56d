"""Decoding of raw answers of nodes: from `RawObservation` to `Observation`.

The mode of a broker is read from its own ApiVersions answer (KIP-866): one on KRaft offers DescribeQuorum, which one
on ZooKeeper does not even know (it hangs up), and one in migration mode says that it is ready (tag 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.findings import Finding, blocker, blockers, warning
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import METADATA_TOPIC, METADATA_VERSION
from kafkactl.core.values import ZERO_UUID, Role
from kafkactl.migration.observed.fields import RawAnswer
from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.observed.observation import (
    ApiVersionsSeen,
    Mode,
    NodeSeen,
    Observation,
    QuorumSeen,
    ReplicaSeen,
)
from kafkactl.migration.observed.raw_observation import CLOSED, RawNode, RawObservation
from kafkactl.migration.observed.release_rules import migration_rules, release_of_requests
from kafkactl.migration.observed.settings import CONNECT
from kafkactl.migration.zktree.connect import chroot_of
from kafkactl.migration.zktree.tree import Tree, find_chroots, tree_of
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.codec import Message, decode_message
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import Versions
from kafkactl.protocol.text.properties import parse_properties

DESCRIBE_QUORUM: Final = 55  # api key; on the listeners of brokers since KRaft only
_WRONG_CHROOT: Final = frozenset({"no-kafka-tree", "zookeeper-of-another-cluster"})
# A broker on ZooKeeper names no metadata.version, which shows the release elsewhere; the requests that it takes do: the
# highest versions of Produce, Fetch, LeaderAndIsr and AddPartitionsToTxn.
_REQUESTS: Final = (0, 1, 4, 24)


def observation_of(
    raw: RawObservation,
    *,
    znodes: Iterable[Znode] | None = None,
    logs: Mapping[int, LogFacts] | None = None,
    findings: Iterable[Finding] = (),
) -> Observation:
    """Return the observation of saved or captured content. Never raises for the content; see the findings.

    `znodes` None: ZooKeeper was not looked at. `findings` are those of reading the files.
    """
    found = [*raw.findings, *findings]
    nodes = []
    for read in sorted(raw.nodes, key=lambda node: (node.role.value, node.id)):  # a file may have them in any order
        node, findings = node_seen(read)
        nodes.append(node)
        found += findings
    every = None if znodes is None else tuple(znodes)
    chroot = chroot_seen(raw, () if every is None else (znode.path for znode in every))
    tree = None if every is None else _tree(every, chroot, found)
    found = [_with_chroot(finding, nodes, chroot) if finding.id in _WRONG_CHROOT else finding for finding in found]
    if tree is not None:
        tree = changed(tree, zxid_before=raw.zxid_before, zxid_after=raw.zxid_after)
    known = dict(sorted((logs or {}).items()))
    found += (finding for log in known.values() for finding in blockers(log.findings))
    observation = Observation(
        time_ms=raw.time_ms,
        cluster_id=raw.cluster_id,
        connect=raw.connect,
        chroot=tree.chroot if tree is not None else chroot or "",
        nodes=tuple(nodes),
        tree=tree,
        servers=raw.servers,
        lock=raw.lock,
        logs=known,
    )
    quorum = observation.quorum
    committed = None if quorum is None else quorum.high_watermark
    bounded = {id: log if committed is None else changed(log, high_watermark=committed) for id, log in known.items()}
    return changed(observation, logs=bounded, findings=tuple(found))


def chroot_seen(raw: RawObservation, paths: Iterable[str]) -> str | None:
    """Return the given chroot, else the end of zookeeper.connect, else the one found among the paths of the znodes.

    A connect without one may be the servers alone: then the root is meant only if a Kafka is there.
    """
    if raw.chroot is not None:
        return raw.chroot.rstrip("/")
    if raw.connect is None:
        return None
    named = chroot_of(raw.connect)
    return named or ("" if "" in find_chroots(paths) else None)


def _with_chroot(finding: Finding, nodes: Iterable[NodeSeen], used: str | None) -> Finding:
    """Return the finding with the chroot that the brokers' own files have, if they were read and agree."""
    connects = {connect.strip() for node in nodes if node.config and (connect := node.config.get(CONNECT))}
    chroots = {chroot_of(connect) or "/" for connect in connects}
    if len(chroots) != 1 or chroots == {used or "/"}:
        return finding
    step = f"Use the chroot {chroots.pop()} in zookeeper.connect of the inventory, as the nodes' own files have it"
    return changed(finding, next_step=f"{step} ({', '.join(sorted(connects))}).")


def _tree(znodes: Iterable[Znode], chroot: str | None, findings: list[Finding]) -> Tree | None:
    try:
        tree = tree_of(znodes, chroot)
    except InputError as error:
        subject = "zookeeper" if chroot is None else f"chroot {chroot}"
        findings.append(blocker("zookeeper-tree-unreadable", subject, error.message, error.advice))
        return None
    findings += tree.findings
    # What is not there is evidence (/controller, /migration), but in a place without a Kafka it is none.
    return None if any(finding.id == "no-kafka-tree" for finding in tree.findings) else tree


def node_seen(raw: RawNode) -> tuple[NodeSeen, tuple[Finding, ...]]:
    """Return a node, and which of its answers could not be read."""
    findings: list[Finding] = []
    name = f"{raw.role} {raw.id}"
    api_versions = _decoded(raw.api_versions, "ApiVersions", name, findings)
    quorum_body = _decoded(raw.describe_quorum, "DescribeQuorum", name, findings)
    api = None if api_versions is None else _api_versions(api_versions)
    quorum = None if quorum_body is None else _quorum(quorum_body)
    if raw.quorum_error == CLOSED:
        quorum = QuorumSeen(closed=True)
    node = NodeSeen(
        id=raw.id,
        role=raw.role,
        address=raw.address,
        identity=raw.identity,
        alive=raw.alive,
        kafka_version=raw.kafka_version or _release(api),
        mode=raw.mode or mode_of(raw.role, api),
        config_text=raw.config,
        config=_config(raw.config, name, findings),
        meta_properties=raw.meta_properties,
        api_versions=api,
        quorum=quorum,
        metrics=raw.metrics,
        strays=raw.strays,
        directories=raw.directories,
        partition_ids=raw.partition_ids,
    )
    return node, tuple(findings)


def mode_of(role: Role, api: ApiVersionsSeen | None) -> Mode | None:
    """Return the mode of a node, by its own ApiVersions answer; None without one."""
    if api is None:
        return None
    if role is Role.CONTROLLER or DESCRIBE_QUORUM in api.supported:
        return Mode.KRAFT
    if api.zk_migration_ready:
        return Mode.MIGRATING
    release = _release(api)
    shows_flag = release is None or migration_rules(find_release(release).numbers).shows_flag
    return Mode.ZK if shows_flag else None


def _release(api: ApiVersionsSeen | None) -> str | None:
    if api is None:
        return None
    levels = api.supported_features.get(METADATA_VERSION)
    if levels is None:
        version = release_of_requests(tuple(api.supported.get(key, (0, -1))[1] for key in _REQUESTS))
        return None if version is None else str(version)
    release = release_of(Versions(*levels))
    return None if release is None else release.name


def _config(text: str | None, name: str, findings: list[Finding]) -> Mapping[str, str] | None:
    if text is None:
        return None
    try:
        return parse_properties(text.encode("utf-8", "surrogatepass")).mapping
    except DecodeError as error:
        findings.append(
            warning(
                "node-config-unreadable",
                name,
                f"the configuration of {name} cannot be read and is unknown: {error.reason}",
            )
        )
        return None


def _decoded(answer: RawAnswer | None, request: str, name: str, findings: list[Finding]) -> Message | None:
    if answer is None:
        return None
    try:
        body, end = decode_message(message(f"{request}Response"), answer.version, answer.body)
        rest = len(answer.body) - end
        reason = f"{rest} bytes follow the answer" if rest else None
    except DecodeError as error:
        reason = str(error)
    if reason is None:
        return body
    findings.append(
        warning(
            "node-answer-unreadable",
            name,
            f"the answer of {name} to {request} cannot be read, so its content is unknown: {reason}",
            request=request,
            version=answer.version,
        )
    )
    return None


def _api_versions(body: Message) -> ApiVersionsSeen:
    return ApiVersionsSeen(
        supported={api["ApiKey"]: (api["MinVersion"], api["MaxVersion"]) for api in body["ApiKeys"]},
        supported_features={
            feature["Name"]: (feature["MinVersion"], feature["MaxVersion"]) for feature in body["SupportedFeatures"]
        },
        finalized_features={feature["Name"]: feature["MaxVersionLevel"] for feature in body["FinalizedFeatures"]},
        finalized_epoch=body["FinalizedFeaturesEpoch"],
        zk_migration_ready=body["ZkMigrationReady"],
    )


def _quorum(body: Message) -> QuorumSeen:
    partition = _partition(body)
    if body["ErrorCode"] or partition is None or partition["ErrorCode"]:
        error = 0 if partition is None else partition["ErrorCode"]
        return QuorumSeen(error_code=body["ErrorCode"], partition_error=error)
    return QuorumSeen(
        leader_id=partition["LeaderId"],
        leader_epoch=partition["LeaderEpoch"],
        high_watermark=_known(partition["HighWatermark"]),
        voters=tuple(_replica(voter) for voter in partition["CurrentVoters"]),
        observers=tuple(_replica(observer) for observer in partition["Observers"]),
    )


def _partition(body: Message) -> Mapping[str, Any] | None:
    """Return the partition of the metadata log; None if the answer names none."""
    topics = (topic for topic in body["Topics"] if topic["TopicName"] == METADATA_TOPIC)
    return next((partition for topic in topics for partition in topic["Partitions"]), None)


def _replica(replica: Mapping[str, Any]) -> ReplicaSeen:
    directory_id = replica["ReplicaDirectoryId"]
    return ReplicaSeen(
        id=replica["ReplicaId"],
        directory_id=None if directory_id == ZERO_UUID else directory_id,
        log_end_offset=_known(replica["LogEndOffset"]),
        last_fetch_timestamp_ms=_known(replica["LastFetchTimestamp"]),
        last_caught_up_timestamp_ms=_known(replica["LastCaughtUpTimestamp"]),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number
