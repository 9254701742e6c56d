"""The input of checks, gates, plan and status: observation and request, and what follows from both."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, NO_LEADER
from kafkactl.core.values import Role
from kafkactl.dryrun.controller.facts import MIN_ISR, Facts, facts_of
from kafkactl.metadata.image.model import EMPTY, Broker, Image
from kafkactl.protocol.catalog.releases import KafkaVersion, Release, find_release
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.roll.journal import RollRecord, read_record
from kafkactl.roll.observation import RollNode, RollObservation
from kafkactl.roll.partitions import RollPartition, RollPartitions, read_partitions
from kafkactl.roll.releases import (
    is_before_kraft,
    is_older,
    is_same,
    last_version,
    line_of,
    rules_of,
    running_version,
    version_in,
)


class Way(StrEnum):
    """Direction of a roll: to a newer release, to an older one, or to the same release with new configuration."""

    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    RESTART = "restart"


class Until(StrEnum):
    """Phase after which a roll ends."""

    CONTROLLERS = "controllers"
    BROKERS = "brokers"
    BINARIES = "binaries"
    LEVELS = "levels"
    PROOF = "proof"


@frozen
class RollRequest:
    """A request. `to` is the release, None for a restart; `rendered` are new configuration texts by node id.

    `only` and `skip` restrict the roll to some nodes; `order` is that of the brokers, None for the best one. `batch`
    is the most brokers that are stopped together, 0 for all of a rack that can be. `accepted` are ids of warnings,
    with `@NODE` of one node only. `inventory` is the inventory as a word of a shell, for commands of next steps, and
    `rendered_from` the folder of the new files.
    """

    to: str | None = None
    only: frozenset[int] | None = None
    skip: frozenset[int] = frozenset()
    rendered: Mapping[int, str] = field(default_factory=dict)
    order: tuple[int, ...] | None = None
    batch: int = 1
    until: Until | None = None
    accepted: frozenset[str] = frozenset()
    inventory: str = "FILE"
    rendered_from: str | None = None

    @classmethod
    def of(
        cls,
        *,
        to: str | None,
        only: Collection[int] | None = None,
        skip: Collection[int] = (),
        rendered: Mapping[int, str] | None = None,
        order: Sequence[int] | None = None,
        batch: int = 1,
        until: str | None = None,
        accepted: Collection[str] = (),
        inventory: str | None = None,
        rendered_from: str | None = None,
    ) -> RollRequest:
        """Return the request of options as they were given."""
        return cls(
            to=to,
            only=None if only is None else frozenset(only),
            skip=frozenset(skip),
            rendered=rendered or {},
            order=None if order is None else tuple(order),
            batch=batch,
            until=None if until is None else Until(until),
            accepted=frozenset(accepted),
            inventory=_in_shell(inventory),
            rendered_from=rendered_from,
        )

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options with which a later run resumes this roll, as words of a command."""
        found = {
            "--only": None if self.only is None else _ids(sorted(self.only)),
            "--skip": _ids(sorted(self.skip)) or None,
            "--order": None if self.order is None else _ids(self.order),
            "--batch": None if self.batch == 1 else str(self.batch or "rack"),
            "--rendered": self.rendered_from,
            "--until": None if self.until is None else self.until.value,
        }
        words = [word for name, value in found.items() if value is not None for word in (name, value)]
        return (*words, *(word for id in sorted(self.accepted) for word in ("--accept", id)))

    def command(self, verb: str, *words: str) -> str:
        """Return a command of `kafkactl roll` for this roll, as it is typed."""
        return " ".join((f"kafkactl roll {verb} --inventory {self.inventory}", *words))


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


def _in_shell(path: str | None) -> str:
    return "FILE" if path is None else shlex.quote(path)


@frozen
class RollCase:
    """A request and the cluster that it is about. `goal` is the version of `request.to`; `versions` and `last` are the
    releases that nodes run, and ran when they registered last.

    `image` is empty if no log was read (`has_log` False). `record` is the journal's record of the last roll.
    """

    observation: RollObservation
    request: RollRequest
    way: Way
    goal: KafkaVersion | None
    image: Image
    facts: Facts
    partitions: RollPartitions
    versions: Mapping[int, KafkaVersion | None]
    last: Mapping[int, KafkaVersion | None]
    record: RollRecord | None = None

    @property
    def journal_from(self) -> KafkaVersion | None:
        """Return the oldest release that a node ran before the roll, by the journal; None if it names none."""
        known = [version_in(text) for text in (self.record.from_releases.values() if self.record is not None else ())]
        return min((version for version in known if version is not None), key=line_of, default=None)

    @property
    def has_log(self) -> bool:
        """Return True if a metadata log was read."""
        return self.observation.log is not None

    @property
    def levels(self) -> dict[str, int]:
        """Return the finalized levels, level 0 left out; kraft.version as records of the log or the quorum show it."""
        found = {name: level for name, level in self.image.features.items() if level}
        kraft = self.kraft_version
        return found if not kraft else {**found, KRAFT_VERSION: kraft}

    @property
    def kraft_version(self) -> int | None:
        """Return the finalized kraft.version; None if neither log nor quorum show it."""
        log, quorum = self.observation.log, self.observation.quorum_view
        shown = [
            self.image.features.get(KRAFT_VERSION),
            None if log is None else log.level_of_quorum,
            None if quorum is None else quorum.kraft_version,
        ]
        return max((level for level in shown if level is not None), default=None)

    @property
    def nodes(self) -> tuple[RollNode, ...]:
        """Return the nodes of the roll: all but those that --only and --skip leave out."""
        request = self.request
        return tuple(
            node
            for node in self.observation.nodes
            if (request.only is None or node.id in request.only) and node.id not in request.skip
        )

    @property
    def skipped(self) -> frozenset[int]:
        """Return the ids of nodes that --only and --skip leave out."""
        kept = {node.id for node in self.nodes}
        return self.request.skip | {node.id for node in self.observation.nodes if node.id not in kept}

    def lacks_only_absent(self, partition: RollPartition) -> bool:
        """Return True if every replica that is not in sync is on a broker that --skip names or that is unregistered."""
        return all(id in self.request.skip or id not in self.image.brokers for id in partition.missing)

    @property
    def leader_id(self) -> int | None:
        """Return the leader of the quorum as it was observed, else as the log shows it; None if unknown."""
        quorum = self.observation.quorum_view
        if quorum is not None:
            return quorum.leader_id if quorum.leader_id != NO_LEADER else None
        return self.facts.leader_id

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """Return the voters of the quorum, by the quorum itself, else by the log."""
        quorum, log = self.observation.quorum_view, self.observation.log
        if quorum is not None and quorum.voters:
            return tuple(sorted({voter.id for voter in quorum.voters}))
        return () if log is None else log.voter_ids

    def config_of(self, node: RollNode) -> str | None:
        """Return the text of the configuration of the next start: the rendered one, else the observed one."""
        return self.request.rendered.get(node.id, node.config)

    def properties_of(self, node: RollNode) -> dict[str, str] | None:
        """Return the settings of the next start; None if they are unknown or cannot be parsed."""
        return properties_in(self.config_of(node))

    def file_error(self, node: RollNode) -> str | None:
        """Return the error with which Java refuses the whole file of the next start; None if it reads it."""
        text = self.config_of(node)
        return MALFORMED if text is not None and properties_in(text) is None else None

    def target_of(self, node: RollNode) -> KafkaVersion | None:
        """Return the release of the next start of a node: the goal; for a restart what is installed, else what runs."""
        return self.goal or version_in(node.installed) or self.last.get(node.id)

    def target_rules(self, node: RollNode) -> Release | None:
        """Return the rules of the release of the next start; None if it is unknown."""
        return rules_of(self.target_of(node))

    def registration(self, node_id: int) -> Broker | None:
        """Return the registration of a broker."""
        return self.image.brokers.get(node_id)

    def is_done(self, node: RollNode) -> bool | None:
        """Return True if a node runs the goal; None if there is no goal, or the patch release is unknown.

        Without a hook that names the patch, a node runs the goal if the journal shows that a roll started it as that.
        """
        running = self.versions.get(node.id)
        if self.goal is None:
            return None
        if running is None:
            return False if node.alive is False else None
        return self._is_goal(node, running)

    def ran_goal(self, node: RollNode) -> bool | None:
        """Return True if a node runs the goal, or ran it before it went down, as its last registration shows.

        None if there is no goal, or no registration, or the patch release is unknown.
        """
        last = self.last.get(node.id)
        return None if self.goal is None or last is None else self._is_goal(node, last)

    def _is_goal(self, node: RollNode, version: KafkaVersion) -> bool | None:
        assert self.goal is not None
        if not is_same(version, self.goal):
            return False
        if version.patch is not None or self.goal.patch is None:
            return True
        return True if self._crosses_lines(node) or self._is_started_as_goal(node) else None

    def _is_started_as_goal(self, node: RollNode) -> bool:
        """Return True if the last roll was to the goal, put it in place on the node, and started the node as that."""
        record, goal = self.record, self.goal
        to = None if record is None else version_in(record.to)
        if record is None or goal is None or to is None or not is_same(to, goal) or node.id not in record.started:
            return False
        installed = version_in(node.installed)
        return node.id in record.placed if installed is None else is_same(installed, goal)

    def _crosses_lines(self, node: RollNode) -> bool:
        """Return True if the roll is known to lead from another release line: some node is or was of another one."""
        goal = self.goal
        assert goal is not None
        others = [version for version in self.last.values() if version is not None]
        log = self.observation.log
        was = () if log is None else log.earlier_lines(node.id)
        return any((other.major, other.minor) != (goal.major, goal.minor) for other in (*others, *was))


# `java.util.Properties` refuses nothing else.
MALFORMED: Final = "Malformed \\uxxxx encoding."


def properties_in(text: str | None) -> dict[str, str] | None:
    """Return the settings of a configuration text; None if there is none, or it cannot be parsed."""
    if text is None:
        return None
    try:
        return dict(parse_properties(text.encode("utf-8", "surrogatepass")).mapping)
    except DecodeError:
        return None


def make_case(observation: RollObservation, request: RollRequest) -> RollCase:
    """Return the case of a request on a cluster.

    Raises InputError `unknown-kafka-version` for a goal that kafkactl does not know, `unknown-node` for ids that no
    node has.
    """
    goal = _goal(request.to)
    _check_ids(observation, request)
    log = observation.log
    image = EMPTY if log is None else log.image
    facts = _facts(observation, image)
    versions = {node.id: running_version(observation, node) for node in observation.nodes}
    last = {node.id: last_version(observation, node) for node in observation.nodes}
    return RollCase(
        observation=observation,
        request=request,
        way=_way(goal, [version for version in last.values() if version is not None]),
        goal=goal,
        image=image,
        facts=facts,
        partitions=read_partitions(image, facts),
        versions=versions,
        last=last,
        record=read_record(observation.journal),
    )


def _goal(text: str | None) -> KafkaVersion | None:
    if text is None:
        return None
    version = version_in(text)
    if version is not None and is_before_kraft(version):
        return version
    return KafkaVersion(*_parts(find_release(text), version))


def _parts(release: Release, version: KafkaVersion | None) -> tuple[int, int, int | None]:
    return *release.numbers[:2], None if version is None else version.patch


def _way(goal: KafkaVersion | None, last: list[KafkaVersion]) -> Way:
    """Return the direction from the releases that nodes run, or ran before they went down."""
    if goal is None or (last and all(is_same(version, goal) for version in last)):
        return Way.RESTART
    return Way.DOWNGRADE if any(is_older(goal, version) for version in last) else Way.UPGRADE


def _check_ids(observation: RollObservation, request: RollRequest) -> None:
    known = {node.id for node in observation.nodes}
    brokers = {node.id for node in observation.nodes if Role.BROKER in node.roles}
    named = [
        ("--only", request.only or (), known),
        ("--skip", request.skip, known),
        ("--order", request.order, brokers),
        ("--accept", [int(node) for word in request.accepted if (node := word.partition("@")[2]).isdigit()], known),
    ]
    for option, ids, allowed in named:
        unknown = sorted(set(ids or ()) - allowed)
        if unknown:
            what = "broker" if allowed is brokers else "node"
            raise InputError(
                f"{option} names {unknown[0]}, which is not a {what} of this cluster; its {what}s are "
                f"{', '.join(map(str, sorted(allowed))) or 'unknown'}",
                id="unknown-node",
            )


def _facts(observation: RollObservation, image: Image) -> Facts:
    """Return the facts for predictions: as `dryrun` has them with the file of the active controller as --config."""
    log = observation.log
    if log is None:
        return facts_of(image)
    loaded = log.loaded
    quorum = observation.quorum_view
    leader_id = None if loaded.leader is None else loaded.leader.id
    if quorum is not None and quorum.has_leader:
        leader_id = quorum.leader_id
    return facts_of(
        image,
        static=_static(observation, leader_id),
        leader_id=leader_id,
        leader_epoch=max(loaded.last_epoch, 0),
        next_offset=loaded.last_offset + 1,
        timestamp_ms=loaded.last_timestamp_ms,
        departed=loaded.departed,
        starting=loaded.starting,
    )


def _static(observation: RollObservation, leader_id: int | None) -> dict[str, str] | None:
    """Return the settings of the active controller, else of another one.

    min.insync.replicas is the largest that a broker has in its file, because brokers refuse writes by it.
    """
    by_rank = sorted(observation.nodes, key=lambda node: (node.id != leader_id, not node.is_controller, node.id))
    files = [(node, found) for node in by_rank if (found := properties_in(node.config)) is not None]
    if not files:
        return None
    static = dict(files[0][1])
    own = [found[MIN_ISR] for node, found in files if node.is_broker and found.get(MIN_ISR, "").strip().isdigit()]
    if own:
        static[MIN_ISR] = max(own, key=int)
    return static
