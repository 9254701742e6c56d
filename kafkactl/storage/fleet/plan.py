"""Plan the format of a whole fleet: one cluster id, one set of ids, salts and times, one voter list for all.

What this file guards: what must be equal on all nodes is computed once, and what must be unique is drawn once. Each
node is then planned by the planner of a single format as if its disks were blank: whether they are is seen by `apply`
on the host, where the disks can be seen. Every problem of every node is reported; a fleet with one blocker has no plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome, Severity, blockers, error_finding
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION, MIGRATION_ENABLE
from kafkactl.core.values import Uuid, host_port
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.releases import Release, find_release, newest_release
from kafkactl.protocol.redact import is_secret_text, redacted_text
from kafkactl.storage.config.node_config import ConfigError, NodeConfig, read_node_config
from kafkactl.storage.fleet.inventory import NEW_CLUSTER, Inventory, InventoryNode, VoterRole
from kafkactl.storage.fleet.model import FLEET, Fleet, FleetNode, nodes_text, voter_roles
from kafkactl.storage.fleet.plan_file import FleetPlan, PlannedNode
from kafkactl.storage.fleet.rules import check_fleet
from kafkactl.storage.format.ensure import blank_node
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.model import FormatPlan, FormatRequest, Source, VoterMode

# What of a configuration a plan depends on. A host on which one of them has changed since is not formatted.
PLANNED_KEYS = (
    "process.roles",
    "node.id",
    "broker.id",
    "log.dirs",
    "log.dir",
    "metadata.log.dir",
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "inter.broker.protocol.version",
    "unstable.feature.versions.enable",
    "unstable.metadata.versions.enable",
    "zookeeper.connect",
    MIGRATION_ENABLE,
)

_OF_THE_FLEET = frozenset({"bootstrap-flag-on-broker", "scram-between-controllers"})
_VOTER_MODES = {
    VoterRole.INITIAL: VoterMode.INITIAL_CONTROLLERS,
    VoterRole.STANDALONE: VoterMode.STANDALONE,
    VoterRole.LATER: VoterMode.NO_INITIAL_CONTROLLERS,
}


@frozen
class ConfigFile:
    """A node's configuration file: `path` as on its host, `data` as read by the planning machine, or why not."""

    path: str
    data: bytes | None
    error: str | None = None
    next_step: str | None = None


@frozen
class FleetRequest:
    """Input of a fleet's plan. `configs` are in the order of the inventory's nodes.

    `scram` holds SCRAM arguments in Kafka's grammar: secrets, never shown. `new_cluster_id` is used where the
    inventory names `new`.
    """

    inventory: Inventory
    configs: tuple[ConfigFile, ...]
    new_cluster_id: Uuid
    scram: tuple[str, ...] = field(default=(), repr=False)


def plan_fleet(request: FleetRequest, source: Source) -> FleetPlan:
    """Plan every node of the fleet. Equal requests and sources give equal plans.

    The outcome is `planned`, or `refused` with every finding. Raises InputError `unknown-kafka-version` for the
    fleet's own release, without which no configuration can be read.
    """
    inventory = request.inventory
    release = find_release(inventory.kafka_version) if inventory.kafka_version else newest_release()
    nodes, findings = _read_nodes(request, release)
    fleet = Fleet(inventory=inventory, release=release, nodes=nodes)
    findings += check_fleet(fleet)
    cluster_id = str(request.new_cluster_id) if inventory.cluster_id == NEW_CLUSTER else inventory.cluster_id
    shared = _Shared(fleet, cluster_id, request.scram, source)
    plans = [shared.plan(node) for node in nodes]
    findings += together(shared.findings)
    done = [plan for plan in plans if plan is not None]
    if done:
        findings += _levels_fit_binaries(fleet, done[0].metadata_version_level, done[0].features)
    return _fleet_plan(fleet, shared, done, findings, request)


def _read_nodes(request: FleetRequest, release: Release) -> tuple[tuple[FleetNode, ...], list[Finding]]:
    findings: list[Finding] = []
    nodes = []
    releases: dict[str, Release] = {}
    for entry, file in zip(request.inventory.nodes, request.configs, strict=True):
        try:
            binary = _release_of(entry, release, releases)
            nodes.append(FleetNode(entry=entry, release=binary, config=_read_config(file, binary)))
        except ConfigError as error:
            findings += [of_node(entry.id, finding) for finding in error.findings] or [
                error_finding(f"node {entry.id}", error)
            ]
        except InputError as error:
            findings.append(error_finding(f"node {entry.id}", error))
    return tuple(nodes), findings


def _release_of(entry: InventoryNode, default: Release, known: dict[str, Release]) -> Release:
    text = entry.kafka_version
    if text is None:
        return default
    if text not in known:
        known[text] = find_release(text)
    return known[text]


def _read_config(file: ConfigFile, release: Release) -> NodeConfig:
    if file.data is None:
        raise InputError(
            file.error or f"the configuration {file.path} cannot be read",
            id="input-file-unreadable",
            next_step=file.next_step or "Correct config (or root) in the inventory.",
        )
    return read_node_config(file.data, file=file.path, release=release)


@frozen
class NodeSource:
    """The `Source` of one node's plan: ids by path, salts and time from elsewhere. It gives the same every time."""

    now: int
    directory_ids: Mapping[str, Uuid]
    salt: Callable[[int], bytes]

    def now_ms(self) -> int:
        """Return the time at which the whole fleet was planned."""
        return self.now

    def directory_id(self, path: str) -> Uuid:
        """Return the id that the plan gives this directory."""
        return self.directory_ids[path]

    def scram_salt(self, position: int) -> bytes:
        """Return the fleet's salt for this credential."""
        return self.salt(position)


class _Shared:
    """Values that are drawn or computed once for all nodes."""

    def __init__(self, fleet: Fleet, cluster_id: str, scram: tuple[str, ...], source: Source) -> None:
        self.fleet = fleet
        self.cluster_id = cluster_id
        self.scram = scram
        self.now_ms = source.now_ms()
        self.findings: list[tuple[int, Finding]] = []
        self._source = source
        self._salts: dict[int, bytes] = {}
        self._used = _fixed_ids(fleet)
        self._ids = {position: self._directory_ids(node) for position, node in enumerate(fleet.nodes)}
        self._positions = {id(node): position for position, node in enumerate(fleet.nodes)}
        self._static = fleet.is_static
        self._roles = {} if self._static else voter_roles(fleet)
        self.initial_controllers = self._initial_controllers()

    def plan(self, node: FleetNode) -> FormatPlan | None:
        """Return the plan of one node, None if it cannot even be planned; findings go to `self.findings`."""
        source = NodeSource(now=self.now_ms, directory_ids=self.ids_of(node), salt=self._salt)
        try:
            plan = plan_format(self._request(node), node.config, blank_node(node.config), self.fleet.release, source)
        except InputError as error:
            self.findings.append((node.entry.id, error_finding(f"node {node.entry.id}", error)))
            return None
        # The plan gives brokers the fleet's features on purpose: they do nothing there, and all disks are alike.
        # Logins between controllers are judged by a rule of the fleet.
        findings = [finding for finding in plan.findings if finding.id not in _OF_THE_FLEET]
        self.findings += [(node.entry.id, of_node(node.entry.id, finding)) for finding in findings]
        return plan

    def ids_of(self, node: FleetNode) -> Mapping[str, Uuid]:
        """Return the directory ids of a node by path."""
        return self._ids[self._positions[id(node)]]

    def mode_of(self, node: FleetNode) -> VoterMode:
        """Return the voter mode (one of Kafka's three flags) with which this node is formatted."""
        if self._static or not self.fleet.release.voter_flags:
            return VoterMode.UNSPECIFIED
        role = self._roles.get(node.entry.id)
        return VoterMode.NO_INITIAL_CONTROLLERS if role is None else _VOTER_MODES[role]

    def _request(self, node: FleetNode) -> FormatRequest:
        mode = self.mode_of(node)
        inventory = self.fleet.inventory
        return FormatRequest(
            cluster_id=self.cluster_id,
            release_version=inventory.release_version,
            features=inventory.features,
            # Only controllers use bootstrap records: a broker's disk need not know any user's keys.
            scram=self.scram if node.is_controller else (),
            voter_mode=mode,
            initial_controllers=self.initial_controllers if mode is VoterMode.INITIAL_CONTROLLERS else "",
        )

    def _initial_controllers(self) -> str:
        """Return the voter list of `-I`, ascending by id (KIP-853's `id@host:port:directoryId`)."""
        voters = sorted(
            (node for node in self.fleet.controllers if self._roles.get(node.entry.id) is VoterRole.INITIAL),
            key=lambda node: node.entry.id,
        )
        return ",".join(text for text in map(self._voter_text, voters) if text)

    def _voter_text(self, node: FleetNode) -> str | None:
        endpoint = node.config.controller_endpoint()
        if endpoint is None:
            return None
        shown = host_port(endpoint.host.strip("[]") or "localhost", endpoint.port)
        return f"{node.entry.id}@{shown}:{self.ids_of(node)[node.config.metadata_log_dir]}"

    def _directory_ids(self, node: FleetNode) -> dict[str, Uuid]:
        ids = {path: self._fresh_id(path) for path in node.config.all_directories}
        given = _parsed_id(node.entry)
        if given is not None:
            ids[node.config.metadata_log_dir] = given
        return ids

    def _fresh_id(self, path: str) -> Uuid:
        while (fresh := self._source.directory_id(path)) in self._used:
            pass
        self._used.add(fresh)
        return fresh

    def _salt(self, position: int) -> bytes:
        if position not in self._salts:
            self._salts[position] = self._source.scram_salt(position)
        return self._salts[position]


def _parsed_id(entry: InventoryNode) -> Uuid | None:
    """Return the id that the inventory fixes; a text that is not an id is reported by a rule of fleet_rules."""
    if entry.directory_id is None:
        return None
    try:
        return Uuid.parse(entry.directory_id)
    except InputError:
        return None


def _fixed_ids(fleet: Fleet) -> set[Uuid]:
    return {found for entry in fleet.inventory.nodes if (found := _parsed_id(entry)) is not None}


def _levels_fit_binaries(fleet: Fleet, level: int, features: Mapping[str, int]) -> Iterable[Finding]:
    """Check that metadata.version and every feature level are in the range of every binary of the fleet."""
    for node in fleet.nodes:
        binary, unstable = node.release, node.config.unstable_features
        highest = binary.testing_level if unstable else binary.production_level
        if not binary.lowest_supported_level <= level <= highest:
            yield Finding(
                id="metadata-version-not-supported",
                severity=Severity.BLOCKER,
                subject=node.subject,
                message=f"metadata.version {level} is planned, Kafka {binary.version_text} supports "
                f"{binary.lowest_supported_level} to {highest}",
                evidence={"level": level, "lowest": binary.lowest_supported_level, "highest": highest},
            )
        known = features_of(binary)
        for name, wanted in features.items():
            facts = known.get(name)
            best = 0 if facts is None else facts.latest_testing if unstable else facts.latest_production
            if wanted > best and name not in (METADATA_VERSION, KRAFT_VERSION):
                yield Finding(
                    id="feature-level-not-supported",
                    severity=Severity.BLOCKER,
                    subject=node.subject,
                    message=f"{name}={wanted} is planned, Kafka {binary.version_text} supports at most {best}",
                    evidence={"feature": name, "level": wanted, "highest": best},
                    next_step=f"Add {name}={best} to features, or run newer binaries.",
                )


def of_node(node_id: int, finding: Finding) -> Finding:
    """Return a finding of one node, as one of the fleet; what is about the fleet as a whole stays so."""
    subject = f"node {node_id}"
    if finding.subject in (subject, FLEET) or finding.subject.startswith(f"{subject},"):
        return finding
    return replace(finding, subject=f"{subject}, {finding.subject}" if finding.subject else subject)


def together(findings: Iterable[tuple[int, Finding]]) -> list[Finding]:
    """Merge equal findings of several nodes, with the nodes as evidence; findings that block nothing may differ in
    wording."""
    groups: dict[tuple[str, str], list[tuple[int, Finding]]] = {}
    for node_id, finding in findings:
        words = f"{_about(node_id, finding)} {finding.message}" if finding.severity is Severity.BLOCKER else ""
        groups.setdefault((finding.id, words), []).append((node_id, finding))
    return [_merged(group) for group in groups.values()]


def _about(node_id: int, finding: Finding) -> str:
    """Return the subject without the node."""
    return finding.subject.removeprefix(f"node {node_id}").removeprefix(", ")


def _merged(group: Sequence[tuple[int, Finding]]) -> Finding:
    first = group[0][1]
    if len(group) == 1 or first.subject == FLEET:
        return first
    ids = list(dict.fromkeys(node_id for node_id, _ in group))
    abouts = list(dict.fromkeys(_about(node_id, finding) for node_id, finding in group))
    messages = list(dict.fromkeys(finding.message for _, finding in group))
    same_subject = f", {abouts[0]}" if len(abouts) == 1 and abouts[0] else ""
    return replace(
        first,
        subject=nodes_text(ids) + same_subject,
        message=first.message + (f" (and {len(messages) - 1} more such)" if len(messages) > 1 else ""),
        evidence={**first.evidence, "nodes": ids, "messages": messages}
        if len(messages) > 1
        else {**first.evidence, "nodes": ids},
    )


def _fleet_plan(
    fleet: Fleet, shared: _Shared, plans: Sequence[FormatPlan], findings: Sequence[Finding], request: FleetRequest
) -> FleetPlan:
    refused = bool(blockers(findings)) or len(plans) < len(fleet.inventory.nodes)
    # The voter set is what initial controllers are formatted with; later ones and brokers know none.
    leading = max(plans, key=lambda plan: len(plan.voters), default=None)
    paths = {id(entry): file.path for entry, file in zip(fleet.inventory.nodes, request.configs, strict=True)}
    return FleetPlan(
        outcome=Outcome.REFUSED if refused else Outcome.PLANNED,
        cluster_id=leading.cluster_id if leading else shared.cluster_id,
        kafka_version=fleet.release.version_text,
        release_version=fleet.inventory.release_version,
        requested_features=fleet.inventory.features,
        metadata_version_level=leading.metadata_version_level if leading else 0,
        metadata_version_name=leading.metadata_version_name if leading else "",
        kraft_version=leading.kraft_version if leading else 0,
        features=dict(leading.features) if leading else {},
        mode="static" if fleet.is_static else "dynamic",
        voters=leading.voters if leading else (),
        static_voters=tuple(sorted({voter.node_id for node in fleet.nodes for voter in node.config.static_voters})),
        created_ms=shared.now_ms,
        nodes=()
        if refused
        else tuple(
            _planned_node(node, plan, shared.mode_of(node), paths[id(node.entry)])
            for node, plan in zip(fleet.nodes, plans, strict=True)
        ),
        findings=tuple(findings),
    )


def _planned_node(node: FleetNode, plan: FormatPlan, mode: VoterMode, path: str) -> PlannedNode:
    return PlannedNode(
        id=node.entry.id,
        host=node.entry.host,
        roles=tuple(sorted(node.config.roles)),
        kafka_version=node.release.version_text,
        config=path,
        config_values=config_values(node.config),
        voter_mode=mode,
        mounts=node.entry.mounts,
        directories=plan.directories,
    )


def config_values(config: NodeConfig) -> dict[str, str]:
    """Return the configuration values on which a plan depends, as written; secrets are redacted."""
    given = {key: config.properties[key] for key in PLANNED_KEYS if key in config.properties}
    return {key: redacted_text(value) if is_secret_text(value) else value for key, value in given.items()}
