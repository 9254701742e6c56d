"""Check that a plan file states only what `storage plan` makes: nothing else is written as root.

A plan is trusted input only as far as its author is: its checksum is computed without a key. So every file
in it is made once more from what the plan declares (cluster id, ids of nodes and directories, voters, levels, time) and
from the node's own configuration, and compared: directories, names, modes and bytes. The only bytes that this cannot
make again are the keys of SCRAM users. The keys are read from the planned checkpoint, checked as `storage plan` would
check them, put into the files that are compared, and named to the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker, blockers
from kafkactl.core.values import Uuid, host_port
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.scram import MECHANISMS
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.fleet.plan import NodeSource
from kafkactl.storage.fleet.plan_file import FleetPlan, PlannedNode
from kafkactl.storage.format.ensure import blank_node
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.format.scram import ScramCredential
from kafkactl.storage.format.scram_argument import MAX_ITERATIONS
from kafkactl.storage.model import FormatPlan, FormatRequest, PlannedDirectory, PlannedFile, VoterMode

_SCRAM = "UserScramCredentialRecord"
_BY_TYPE: Mapping[object, str] = {mechanism.type: name for name, mechanism in MECHANISMS.items()}


def request_of(plan: FleetPlan, node: PlannedNode) -> FormatRequest:
    """Return the format request that the plan declares for a node, without SCRAM users."""
    return FormatRequest(
        cluster_id=plan.cluster_id,
        release_version=plan.release_version,
        features=plan.requested_features,
        voter_mode=node.voter_mode,
        initial_controllers=_initial_controllers(plan, node),
    )


def directory_ids(node: PlannedNode) -> dict[str, Uuid]:
    """Return the ids that the plan gives to the directories of a node, by path."""
    return {
        directory.path: directory.directory_id for directory in node.directories if directory.directory_id is not None
    }


def scram_users(node: PlannedNode) -> tuple[ScramCredential, ...]:
    """Return the SCRAM users whose keys the plan writes on this node, once each. Raises InputError `plan-forged`."""
    found: dict[tuple[str, str, bytes], ScramCredential] = {}
    for directory in node.directories:
        for credential in _credentials(directory.files, f"node {node.id}"):
            found.setdefault((credential.name, credential.mechanism.name, credential.stored_key), credential)
    return tuple(found.values())


def check_plan_of_node(plan: FleetPlan, node: PlannedNode, config: NodeConfig, release: Release) -> tuple[Finding, ...]:
    """Refuse everything of this node that `storage plan` would not have planned.

    `config` is the node's configuration as found, which has to be the planned one; `release` the plan's kafka_version.
    """
    other = [*_other_directories(node, config), *_other_declarations(plan, node, config)]
    if other:
        return tuple(other)
    subject = f"node {node.id}"
    try:
        made = _made_again(plan, node, config, release)
    except InputError as error:
        return (_forged(subject, f"the declarations of {subject} cannot be planned: {error.message}"),)
    if refused := blockers(made.findings):
        return tuple(replace(finding, subject=f"{subject}, {finding.subject}") for finding in refused)
    return tuple(_differences(plan, node, made))


def _other_directories(node: PlannedNode, config: NodeConfig) -> Iterator[Finding]:
    planned, named = [directory.path for directory in node.directories], list(config.all_directories)
    if sorted(planned) != sorted(named):
        yield blocker(
            "plan-for-other-directories",
            f"node {node.id}",
            f"the plan formats {', '.join(planned) or 'no directory'}; {config.file} names {', '.join(named)}",
            planned=planned,
            configured=named,
        )


def _other_declarations(plan: FleetPlan, node: PlannedNode, config: NodeConfig) -> Iterator[Finding]:
    """Report declarations of the plan that differ from the configuration and are not stored on any disk."""
    voters = {voter.node_id for voter in config.static_voters}
    pairs = (
        ("node id", node.id, config.node_id),
        ("roles", sorted(node.roles), sorted(config.roles)),
        ("static voters", sorted(voters & set(plan.static_voters)), sorted(voters)),
    )
    for what, planned, found in pairs:
        if planned != found:
            yield _forged(f"node {node.id}", f"{what} {planned}, and {config.file} says {found}")


def _made_again(plan: FleetPlan, node: PlannedNode, config: NodeConfig, release: Release) -> FormatPlan:
    ids = directory_ids(node)
    missing = (
        [directory.path for directory in node.directories if directory.directory_id is None]
        if release.has_directory_ids
        else []
    )
    if missing:
        raise _error(f"node {node.id}", f"{missing[0]} has no directory id")
    source = NodeSource(now=plan.created_ms, directory_ids=ids, salt=lambda _: b"")
    request = replace(request_of(plan, node), credentials=scram_users(node))
    return plan_format(request, config, blank_node(config), release, source)


def _differences(plan: FleetPlan, node: PlannedNode, made: FormatPlan) -> Iterator[Finding]:
    subject = f"node {node.id}"
    names = ("cluster_id", "metadata_version_level", "metadata_version_name", "kraft_version", "features")
    for name in names:
        declared, found = getattr(plan, name), getattr(made, name)
        if declared != found:
            yield _forged(subject, f"{name} {declared!r}, and planning its other declarations gives {found!r}")
    if made.voters and made.voters != plan.voters:
        yield _forged(subject, "voters in another form than planning gives them")
    by_path = {directory.path: directory for directory in made.directories}
    for directory in node.directories:
        yield from _different_directory(directory, by_path[directory.path])


def _different_directory(planned: PlannedDirectory, made: PlannedDirectory) -> Iterator[Finding]:
    subject = f"directory {planned.path}"
    if (planned.role, planned.directory_id) != (made.role, made.directory_id):
        yield _forged(subject, f"role {planned.role} and directory id {planned.directory_id}, not {_identity(made)}")
    names, expected = [file.name for file in planned.files], [file.name for file in made.files]
    if names != expected:
        yield _forged(subject, f"files {', '.join(names) or 'none'}; planning gives {', '.join(expected)}")
        return
    for file, again in zip(planned.files, made.files, strict=True):
        if file.mode != again.mode:
            yield _forged(subject, f"{file.name} with mode {_mode(file)}; planning gives {_mode(again)}")
        if file.content != again.content:
            yield _forged(subject, f"{file.name} with other bytes than its declarations give")


def _identity(directory: PlannedDirectory) -> str:
    return f"{directory.role} and {directory.directory_id}"


def _mode(file: PlannedFile) -> str:
    return "of the umask" if file.mode is None else f"{file.mode:04o}"


def _credentials(files: Iterable[PlannedFile], subject: str) -> Iterator[ScramCredential]:
    for file in files:
        if file.name != META_PROPERTIES:
            records = (record for _, record in decode_checkpoint(file.content).records if record.type == _SCRAM)
            for record in records:
                yield _credential(record.data, f"{subject}, {file.name}")


def _credential(data: Mapping[str, object], subject: str) -> ScramCredential:
    mechanism = MECHANISMS.get(_BY_TYPE.get(data.get("Mechanism"), ""))
    name, iterations = data.get("Name"), data.get("Iterations")
    salt, stored, server = (data.get(key) for key in ("Salt", "StoredKey", "ServerKey"))
    if (
        mechanism is None
        or not isinstance(name, str)
        or not name
        or not isinstance(iterations, int)
        or not mechanism.min_iterations <= iterations <= MAX_ITERATIONS
        or not (isinstance(salt, bytes) and isinstance(stored, bytes) and isinstance(server, bytes))
        or not len(stored) == len(server) == _DIGEST_BYTES[mechanism.name]
    ):
        raise _error(subject, f"a SCRAM user {name!r} that planning would not make")
    return ScramCredential(
        name=name, mechanism=mechanism, iterations=iterations, salt=salt, stored_key=stored, server_key=server
    )


_DIGEST_BYTES = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}


def _initial_controllers(plan: FleetPlan, node: PlannedNode) -> str:
    if node.voter_mode is not VoterMode.INITIAL_CONTROLLERS:
        return ""
    texts = []
    for voter in plan.voters:
        if len(voter.endpoints) != 1:
            raise _error(f"node {node.id}", f"voter {voter.node_id} with {len(voter.endpoints)} endpoints, not one")
        endpoint = voter.endpoints[0]
        texts.append(f"{voter.node_id}@{host_port(endpoint.host, endpoint.port)}:{voter.directory_id}")
    return ",".join(texts)


def _words(what: str) -> str:
    return f"the plan says what `storage plan` does not make: {what}"


def _forged(subject: str, what: str) -> Finding:
    return blocker("plan-forged", subject, _words(what))


def _error(subject: str, what: str) -> InputError:
    return InputError(f"{subject}: {_words(what)}", id="plan-forged")
