"""A fleet's plan as a file: what every host applies, byte for byte, and nothing else.

What this file guards: the bytes that were reviewed are the bytes that are written. Directory ids, salts and
times are decided when the plan is made and lie in it, so applying twice, or on another day, gives the same
disks. `plan_sha256` covers everything else in the file; a plan that was changed by hand after planning is
refused.

The contents of the files lie in the plan once each (`contents`, by their sha256), because a fleet's bootstrap
files are equal. Where SCRAM users were asked for, those bytes hold derived keys, which are worth as much as
passwords to an attacker who can guess: the file is written with mode 0600, and what is shown of a plan leaves
`contents` out. Plans without keys would need every password on every host instead.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, cast

from kafkactl.change.plan_document import (
    CHECKSUM,
    checked,
    levels_in,
    list_in,
    not_a_plan,
    number_in,
    read_document,
    render_document,
    sealed,
    table_in,
    tables_in,
    text_in,
    texts_in,
)
from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    KEYS_MODE,
    SNAPSHOT_MODE,
    Action,
    DirectoryRole,
    FormatPlan,
    NamedLevel,
    PlannedDirectory,
    PlannedFile,
    VoterMode,
)

KIND = "storage.plan"
SCHEMA_VERSION = 1

# A plan names no other file than these: one that does was not made by `storage plan`.
_PLANNED_NAMES = frozenset({META_PROPERTIES, BOOTSTRAP_CHECKPOINT, f"{METADATA_LOG}/{FIRST_CHECKPOINT}"})
_PLANNED_MODES = (None, SNAPSHOT_MODE, KEYS_MODE)
_MADE_BY = "kafkactl storage plan INVENTORY --out plan.json"


@frozen
class PlannedNode:
    """A node of a planned fleet.

    `config` is the path of its configuration on its host and `config_values` what of it the plan depends on,
    so that a host whose configuration has changed since is noticed. `kafka_version` is the binary that will
    start there.
    """

    id: int
    host: str
    roles: tuple[str, ...]
    kafka_version: str
    config: str
    """The node's configuration file that was read."""
    config_values: Mapping[str, str]
    voter_mode: VoterMode
    mounts: tuple[str, ...]
    directories: tuple[PlannedDirectory, ...]


@frozen
class FleetPlan:
    """Plan of a fleet's format, or (outcome refused) every reason against it.

    `kafka_version` decides the layout of all disks; `static_voters` are the ids of a static quorum, `voters`
    the first voter set of a dynamic one. `nodes` is empty if the fleet could not even be understood.
    """

    outcome: Outcome  # planned | refused
    cluster_id: str
    kafka_version: str
    """The release that will start on these disks."""
    release_version: str | None
    requested_features: tuple[str, ...]
    metadata_version_level: int
    metadata_version_name: str
    kraft_version: int
    features: Mapping[str, int]
    mode: str  # static | dynamic
    voters: tuple[Voter, ...]
    static_voters: tuple[int, ...]
    created_ms: int
    nodes: tuple[PlannedNode, ...]
    findings: tuple[Finding, ...]


def node_format_plan(plan: FleetPlan, node: PlannedNode) -> FormatPlan:
    """Return the plan of one node as the plan of a single format."""
    return FormatPlan(
        outcome=Outcome.PLANNED,
        cluster_id=plan.cluster_id,
        node_id=node.id,
        kafka_version=plan.kafka_version,
        metadata_version_level=plan.metadata_version_level,
        metadata_version_name=plan.metadata_version_name,
        kraft_version=plan.kraft_version,
        features=plan.features,
        voters=plan.voters,
        directories=node.directories,
        findings=(),
    )


def render_plan(plan: FleetPlan) -> bytes:
    """Return the plan file: JSON with sorted keys, its checksum included."""
    return render_document(_document(plan))


class ShownDirectory(TypedDict):
    """A log directory of a planned node."""

    path: str
    role: DirectoryRole
    directory_id: str | None


class ShownFile(TypedDict):
    """A file of a planned node; `mode` None leaves it to the umask."""

    path: str
    directory: str
    name: str
    """Relative to the directory."""
    size: int
    sha256: str
    mode: int | None


class ShownNode(TypedDict):
    """A node of a planned fleet."""

    id: int
    host: str
    roles: list[Literal["broker", "controller"]]
    kafka_version: str
    config: str
    config_values: dict[str, str]
    """Values in the configuration when the plan was made."""
    voter_mode: str
    mounts: list[str]
    directories: list[ShownDirectory]
    files: list[ShownFile]


class ShownPlan(TypedDict):
    """A plan as it is shown (`storage.plan`): the file without `contents`, which may hold SCRAM keys."""

    outcome: Outcome
    cluster_id: str
    kafka_version: str
    release_version: str | None
    requested_features: list[str]
    metadata_version: NamedLevel
    kraft_version: int
    features: dict[str, int]
    mode: Literal["static", "dynamic"]
    voters: list[Voter]
    static_voters: list[int]
    created_ms: int
    nodes: list[ShownNode]
    findings: list[Finding]
    plan_sha256: str
    """Over everything else in the plan; `apply` refuses a plan that was edited."""


def shown_plan(plan: FleetPlan) -> ShownPlan:
    """Return the plan as it is shown, with its kind and version."""
    document = sealed(_document(plan))
    del document["contents"]
    return cast("ShownPlan", document)


def _document(plan: FleetPlan) -> dict[str, Any]:
    contents: dict[str, str] = {}
    return {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "outcome": plan.outcome.value,
        "cluster_id": plan.cluster_id,
        "kafka_version": plan.kafka_version,
        "release_version": plan.release_version,
        "requested_features": list(plan.requested_features),
        "metadata_version": {"level": plan.metadata_version_level, "name": plan.metadata_version_name},
        "kraft_version": plan.kraft_version,
        "features": dict(plan.features),
        "mode": plan.mode,
        "voters": [voter.to_dict() for voter in plan.voters],
        "static_voters": list(plan.static_voters),
        "created_ms": plan.created_ms,
        "nodes": [_node_to_dict(node, contents) for node in plan.nodes],
        "findings": [finding.to_dict() for finding in plan.findings],
        "contents": contents,
    }


def _node_to_dict(node: PlannedNode, contents: dict[str, str]) -> dict[str, Any]:
    return {
        "id": node.id,
        "host": node.host,
        "roles": list(node.roles),
        "kafka_version": node.kafka_version,
        "config": node.config,
        "config_values": dict(node.config_values),
        "voter_mode": node.voter_mode.value,
        "mounts": list(node.mounts),
        "directories": [
            {
                "path": directory.path,
                "role": directory.role,
                "directory_id": str(directory.directory_id) if directory.directory_id else None,
            }
            for directory in node.directories
        ],
        "files": [
            _file_to_dict(directory.path, file, contents) for directory in node.directories for file in directory.files
        ],
    }


def _file_to_dict(directory: str, file: PlannedFile, contents: dict[str, str]) -> dict[str, Any]:
    digest = hashlib.sha256(file.content).hexdigest()
    if digest not in contents:
        contents[digest] = base64.b64encode(file.content).decode("ascii")
    return {
        "path": f"{directory.rstrip('/')}/{file.name}",
        "directory": directory,
        "name": file.name,
        "size": len(file.content),
        "sha256": digest,
        "mode": file.mode,
    }


def parse_plan(data: bytes, *, file: str) -> tuple[FleetPlan, str]:
    """Read a plan file; gives the plan and its checksum.

    Raises InputError `not-a-plan-file` (not JSON, not a plan, a plan of another version) and RefusedError
    `plan-file-edited` if the checksum does not fit the rest.
    """
    document = read_document(data, file=file, kind=KIND, schema_version=SCHEMA_VERSION, made_by=_MADE_BY)
    try:
        return _plan_from(document), text_in(document, CHECKSUM)
    except (KeyError, TypeError, ValueError, AttributeError, InputError, binascii.Error) as error:
        raise not_a_plan(file, f"{type(error).__name__}: {error}", _MADE_BY) from None


def _plan_from(document: Mapping[str, Any]) -> FleetPlan:
    contents = {digest: _content(digest, text) for digest, text in table_in(document, "contents").items()}
    version = table_in(document, "metadata_version")
    return FleetPlan(
        outcome=Outcome(document["outcome"]),
        cluster_id=text_in(document, "cluster_id"),
        kafka_version=text_in(document, "kafka_version"),
        release_version=None if document["release_version"] is None else text_in(document, "release_version"),
        requested_features=texts_in(document, "requested_features"),
        metadata_version_level=number_in(version, "level"),
        metadata_version_name=text_in(version, "name"),
        kraft_version=number_in(document, "kraft_version"),
        features=levels_in(document, "features"),
        mode=text_in(document, "mode"),
        voters=tuple(_voter_from(voter) for voter in tables_in(document, "voters")),
        static_voters=tuple(checked(voter, int, "static_voters") for voter in list_in(document, "static_voters")),
        created_ms=number_in(document, "created_ms"),
        nodes=tuple(_node_from(node, contents) for node in tables_in(document, "nodes")),
        findings=tuple(_finding_from(finding) for finding in tables_in(document, "findings")),
    )


def _content(digest: str, text: Any) -> bytes:
    content = base64.b64decode(checked(text, str, "contents"), validate=True)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"the content named {digest} has another checksum")
    return content


def _voter_from(document: Mapping[str, Any]) -> Voter:
    return Voter(
        node_id=number_in(document, "id"),
        directory_id=Uuid.parse(text_in(document, "directory_id")),
        endpoints=tuple(
            Endpoint(
                listener=text_in(endpoint, "listener"), host=text_in(endpoint, "host"), port=number_in(endpoint, "port")
            )
            for endpoint in tables_in(document, "endpoints")
        ),
    )


def _node_from(document: Mapping[str, Any], contents: Mapping[str, bytes]) -> PlannedNode:
    files: dict[str, list[PlannedFile]] = {}
    for file in tables_in(document, "files"):
        files.setdefault(text_in(file, "directory"), []).append(_file_from(file, contents))
    directories = tuple(_directory_from(item, files) for item in tables_in(document, "directories"))
    if len({directory.path for directory in directories}) < len(directories):
        raise ValueError(f"node {number_in(document, 'id')} has a directory twice")
    values = table_in(document, "config_values")
    node = PlannedNode(
        id=number_in(document, "id"),
        host=text_in(document, "host"),
        roles=texts_in(document, "roles"),
        kafka_version=text_in(document, "kafka_version"),
        config=text_in(document, "config"),
        config_values={key: text_in(values, key) for key in values},
        voter_mode=VoterMode(text_in(document, "voter_mode")),
        mounts=texts_in(document, "mounts"),
        directories=directories,
    )
    if other := sorted(set(files) - {directory.path for directory in directories}):
        raise ValueError(f"node {node.id}: {other[0]} has files and is not among the directories")
    return node


def _directory_from(document: Mapping[str, Any], files: Mapping[str, Iterable[PlannedFile]]) -> PlannedDirectory:
    directory_id, path = document["directory_id"], text_in(document, "path")
    return PlannedDirectory(
        path=path,
        role=cast("DirectoryRole", text_in(document, "role")),  # compared with the role that the plan makes
        directory_id=Uuid.parse(text_in(document, "directory_id")) if directory_id is not None else None,
        action=Action.FORMAT,
        files=tuple(files.get(path, ())),
    )


def _file_from(document: Mapping[str, Any], contents: Mapping[str, bytes]) -> PlannedFile:
    name, mode = text_in(document, "name"), document["mode"]
    if name not in _PLANNED_NAMES:
        raise ValueError(f"{name!r} is not a file that formatting writes")
    if mode not in _PLANNED_MODES:
        raise ValueError(f"{name} has the mode {mode!r}, which formatting gives to no file")
    return PlannedFile(
        name=name,
        content=contents[text_in(document, "sha256")],
        mode=None if mode is None else number_in(document, "mode"),
    )


def _finding_from(document: Mapping[str, Any]) -> Finding:
    return Finding(
        id=text_in(document, "id"),
        severity=Severity(document["severity"]),
        subject=str(document["subject"]),
        message=str(document["message"]),
        evidence=table_in(document, "evidence"),
        next_step=str(document["next_step"]),
    )
