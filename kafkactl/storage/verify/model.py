"""The words of `verify`: what may happen to a node that is started on its disks, and what a rule looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Literal, TypedDict, cast

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.file_read import FileRead, link_step
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.values import EVERY_ADDRESS, Uuid
from kafkactl.metadata.log.quorum_state import QuorumStateFile
from kafkactl.metadata.verify.folder import MetadataLogFacts
from kafkactl.protocol.catalog.record_types import record_types_of
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.catalog.start_rules import StartRules, start_rules
from kafkactl.protocol.text.java_text import split_list
from kafkactl.protocol.text.meta_properties import MetaProperties
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.model import ObservedDirectory, ObservedNode
from kafkactl.storage.partition_folders import PartitionIds


class Phase(IntEnum):
    """The steps of a start in the order in which a node takes them (KafkaRaftServer, SharedServer, BrokerServer)."""

    CONFIG = 1
    META_PROPERTIES = 2
    METADATA_LOCATION = 3
    BOOTSTRAP_CHECKPOINT = 4
    METADATA_DIRECTORY = 5
    METADATA_LOG = 6
    QUORUM_STATE = 7
    ELECTION = 8
    CONTROLLER_SERVICES = 9
    LOG_DIRECTORIES = 10
    BROKER_SERVICES = 11
    WAITING_FOR_QUORUM = 12
    METADATA_REPLAY = 13
    CONTROLLER_ACTIVATION = 14
    BROKER_LOGS = 15
    WAITING_FOR_REGISTRATION = 16
    AFTER_REGISTRATION = 17

    @property
    def word(self) -> str:
        """Return the phase of the start, such as `waiting-for-quorum`."""
        return self.name.lower().replace("_", "-")


DirectoryWord = Literal["good", "empty", "error"]


class DirectoryClass(IntEnum):
    """Class of a directory by its meta.properties (MetaPropertiesEnsemble.Loader)."""

    GOOD = 1
    EMPTY = 2
    ERROR = 3

    @property
    def word(self) -> DirectoryWord:
        """Return the word of the answer: `good`."""
        return cast("DirectoryWord", self.name.lower())


# The line with which every release ends if an exception leaves the main thread; what stands below it varies.
FATAL_EXIT = "Exiting Kafka due to fatal exception"
# The line if it is thrown while the raft layer starts (3.3 had no such layer of its own).
RAFT_NOT_STARTED = "Got exception while starting SharedServer"


@frozen
class Failure:
    """Failure of a start, or an indefinite wait."""

    phase: Phase
    message: str
    """The message in the node's log, or what it waits for."""
    waits: bool = False

    to_dict = json_of("phase=phase.word", "message")


@frozen
class Loss:
    """Data that a start would silently drop or recreate."""

    what: str
    subject: str
    message: str

    to_dict = by_fields


@frozen
class RuleResult:
    """Result of one rule: a finding, and its effect on the start.

    `unknown` marks what cannot be known from the disks alone: the finding reports what is missing.
    """

    finding: Finding
    failure: Failure | None = None
    losses: tuple[Loss, ...] = ()
    unknown: bool = False


@frozen
class DirectoryFacts:
    """A directory as the node will sort it; `meta` is None unless GOOD, `problem` is Kafka's complaint if ERROR.

    `properties` are the raw pairs of the file, if it could be split into pairs at all.
    """

    observed: ObservedDirectory
    kind: DirectoryClass
    meta: MetaProperties | None = None
    properties: Mapping[str, str] | None = None
    problem: str | None = None

    @property
    def path(self) -> str:
        """Return the path as written in the configuration."""
        return self.observed.path


@frozen
class StartContext:
    """The facts that a rule may look at. `directories` are those of `observed`, sorted by path as a node sorts them.

    `partition_ids` are the topic ids in its partition folders, None if they were not read.
    """

    config: NodeConfig
    observed: ObservedNode
    release: Release
    log: MetadataLogFacts
    directories: tuple[DirectoryFacts, ...]
    quorum_state: QuorumStateFile | None = None
    partition_ids: PartitionIds | None = None

    @property
    def topics(self) -> Mapping[Uuid, str]:
        """Return the names of the topics that a start finds in the metadata log, by id."""
        snapshot = self.log.latest_snapshot
        before = {} if snapshot is None or snapshot.contents is None else snapshot.contents.topics
        return {**before, **self.log.contents.topics}

    @property
    def is_controller(self) -> bool:
        """Return True if the node has the controller role."""
        return "controller" in self.config.roles

    @property
    def is_broker(self) -> bool:
        """Return True if the node has the broker role."""
        return "broker" in self.config.roles

    @property
    def running_on(self) -> tuple[DirectoryFacts, ...]:
        """Return the directories that this node itself holds locked: it runs on them.

        A node refuses a directory with another node id, so a process that locks one of this node's is this node, unless
        its command line shows another program, or several processes share the directories.
        """
        own = self.config.node_id
        held = tuple(
            found
            for found in self.directories
            if found.observed.locked_by_process
            and found.observed.lock_holder_is_node is not False
            and found.meta is not None
            and found.meta.stored_id == own
        )
        return held if len({found.observed.lock_holder_pid for found in held}) == 1 else ()

    @property
    def metadata_directory(self) -> DirectoryFacts:
        """Return the directory of the metadata log."""
        return self.directory(self.config.metadata_log_dir)

    def directory(self, path: str) -> DirectoryFacts:
        """Return the directory with this path. Raises KeyError."""
        for directory in self.directories:
            if directory.path == path:
                return directory
        raise KeyError(path)

    @property
    def raft_not_started(self) -> str:
        """Return the text that is logged when the raft layer cannot start, whatever the reason."""
        return RAFT_NOT_STARTED if self.rules.names_raft_failure else FATAL_EXIT

    @property
    def takes_first_checkpoint_as_snapshot(self) -> bool:
        """Return True if a 0-0 checkpoint is loaded like any other snapshot: 3.6 to 4.2 do.

        Before, it is not read; 4.3 keeps it from the state machines, and 4.4 founds a cluster with it (KIP-1170).
        """
        return self.rules.first_checkpoint_is_snapshot

    @property
    def locks_metadata_directory(self) -> bool:
        """Return True if the metadata directory has its own lock: it is separate, or there is no broker (from 3.4)."""
        separate = self.config.metadata_log_dir not in self.config.log_dirs
        return self.rules.locks_metadata_directory and (separate or not self.is_broker)

    @property
    def log_dirs_as_written(self) -> tuple[str, ...]:
        """Return log.dirs; a path that is named twice is kept twice up to 4.1, once from 4.2 on."""
        text = self.config.properties.get("log.dirs")
        if text is None or not self.rules.keeps_repeated_log_dirs:
            return self.config.log_dirs
        return tuple(item for item in split_list(text) if item)

    @property
    def rules(self) -> StartRules:
        """Return the start rules of the release."""
        return start_rules(self.release)

    @property
    def release_record_types(self) -> Mapping[int, int]:
        """Return the highest version of each record type that the release reads."""
        return record_types_of(self.release)

    def is_own(self, server: str) -> bool:
        """Return True if `host:port` is certainly a listener of this node."""
        host, _, port = server.rpartition(":")
        endpoints = (*self.config.listeners, *self.config.advertised_listeners)
        return any(str(endpoint.port) == port and _same_host(endpoint.host, host.strip("[]")) for endpoint in endpoints)

    def may_be_own(self, server: str) -> bool:
        """Return True if `host:port` could be a listener of this node: its port matches a listener on a
        wildcard host."""
        port = server.rpartition(":")[2]
        return any(str(listener.port) == port and listener.host in EVERY_ADDRESS for listener in self.config.listeners)


_LOOPBACK = ("localhost", "127.0.0.1", "::1", "0:0:0:0:0:0:0:1")


def _same_host(listener: str, host: str) -> bool:
    here = listener in EVERY_ADDRESS or listener.lower() in _LOOPBACK
    return listener.lower() == host.lower() or (here and host.lower() in _LOOPBACK)


Rule = Callable[[StartContext], Iterator[RuleResult]]


class VerifiedDirectory(TypedDict):
    """A log directory as a starting node will sort it."""

    path: str
    role: Literal["metadata", "data"]
    state: DirectoryWord
    version: int | None
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


@frozen
class Verification:
    """Result of a verification. `will_start` is None if the disks alone do not decide."""

    will_start: bool | None
    expected_failure: Failure | None
    would_lose: tuple[Loss, ...]
    directories: tuple[VerifiedDirectory, ...]
    findings: tuple[Finding, ...]


def stops(
    id: str,
    phase: Phase,
    subject: str,
    message: str,
    *,
    says: str,
    next_step: str = "",
    waits: bool = False,
    **evidence: Any,
) -> RuleResult:
    """Return a result that keeps the node from starting; `says` is the text in the node's log."""
    return RuleResult(
        finding=finding(id, Severity.BLOCKER, subject, message, next_step=next_step, **evidence),
        failure=Failure(phase=phase, message=says, waits=waits),
    )


def loses(id: str, subject: str, message: str, *losses: Loss, next_step: str = "", **evidence: Any) -> RuleResult:
    """Return a result that a start does not report, with the data that is lost afterwards."""
    return RuleResult(
        finding=finding(id, Severity.BLOCKER, subject, message, next_step=next_step, **evidence), losses=losses
    )


def warns(id: str, subject: str, message: str, *, next_step: str = "", **evidence: Any) -> RuleResult:
    """Return a warning that does not change the start."""
    return RuleResult(finding=finding(id, Severity.WARNING, subject, message, next_step=next_step, **evidence))


def informs(id: str, subject: str, message: str, *, next_step: str = "", **evidence: Any) -> RuleResult:
    """Return information that needs no action."""
    return RuleResult(finding=finding(id, Severity.INFO, subject, message, next_step=next_step, **evidence))


def dangling_link(read: FileRead, effect: str) -> RuleResult:
    """Return a warning about a link without a file at its end, which Kafka takes for a missing file."""
    message = f"The file is {read.error}. A node that starts treats it as missing{effect}."
    return warns("dangling-link", file_subject(read.path), message, next_step=link_step(read.error))


def finding(
    id: str, severity: Severity, subject: str, message: str, *, next_step: str = "", **evidence: Any
) -> Finding:
    """Return a finding with its evidence as keywords."""
    return Finding(id=id, severity=severity, subject=subject, message=message, evidence=evidence, next_step=next_step)


def directory_subject(path: str) -> str:
    """Return the subject by which findings name a directory."""
    return f"directory {path}"


def file_subject(path: str) -> str:
    """Return the subject by which findings name a file."""
    return f"file {path}"
