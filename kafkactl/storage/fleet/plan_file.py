"""A fleet's plan as a file: what every host applies, byte for byte, and nothing else.

What this file guards: the bytes that were reviewed are the bytes that are written. Directory ids, salts and
times are decided when the plan is made and lie in it, so applying twice, or on another day, gives the same
disks. `plan_sha256` covers everything else in the file; a plan that was changed by hand after planning is
refused.

The contents of the files lie in the plan once each (`contents`, by their sha256), because a fleet's bootstrap
files are equal. Where SCRAM users were asked for, those bytes hold derived keys, which are worth as much as
passwords to somebody who can guess: the file is written with mode 0600, and what is shown of a plan leaves
`contents` out. Plans without keys would need every password on every host instead.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from kafkactl.errors import InputError, RefusedError
from kafkactl.findings import Finding, Outcome, Severity
from kafkactl.frozen import frozen
from kafkactl.kafka_names import METADATA_LOG
from kafkactl.metadata.log.voters import Voter
from kafkactl.shown import escaped
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    FIRST_CHECKPOINT,
    KEYS_MODE,
    META_PROPERTIES,
    SNAPSHOT_MODE,
    Action,
    FormatPlan,
    PlannedDirectory,
    PlannedFile,
    VoterMode,
)
from kafkactl.values import Endpoint, Uuid

KIND = "storage.plan"
SCHEMA_VERSION = 1
PLAN_FILE_MODE = 0o600

# A plan names no other file than these: one that does was not made by `storage plan`.
_PLANNED_NAMES = frozenset({META_PROPERTIES, BOOTSTRAP_CHECKPOINT, f"{METADATA_LOG}/{FIRST_CHECKPOINT}"})
_PLANNED_MODES = (None, SNAPSHOT_MODE, KEYS_MODE)
_UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_Value = TypeVar("_Value")


@frozen
class PlannedNode:
    """One node of a planned fleet.

    `config` is the path of its configuration on its host and `config_values` what of it the plan depends on,
    so that a host whose configuration has changed since is noticed. `kafka_version` is the binary that will
    start there.
    """

    id: int
    host: str
    roles: tuple[str, ...]
    kafka_version: str
    config: str
    config_values: Mapping[str, str]
    voter_mode: VoterMode
    mounts: tuple[str, ...]
    directories: tuple[PlannedDirectory, ...]


@frozen
class FleetPlan:
    """What formatting a fleet means, or (outcome refused) every reason why it will not be done.

    `kafka_version` decides the layout of all disks; `static_voters` are the ids of a static quorum, `voters`
    the first voter set of a dynamic one. `nodes` is empty where the fleet could not even be understood.
    """

    outcome: Outcome  # planned | refused
    cluster_id: str
    kafka_version: str
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
    """What this plan says for one node, in the words of a single format."""
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


# --- to JSON ------------------------------------------------------------------------------------------------


def render_plan(plan: FleetPlan) -> bytes:
    """The plan file: JSON with sorted keys, its checksum included."""
    return (escaped(json.dumps(_sealed(plan), indent=1, sort_keys=True, ensure_ascii=False)) + "\n").encode("utf-8")


def shown_plan(plan: FleetPlan) -> dict[str, Any]:
    """The plan as it is shown (`storage.plan`): the file without `contents`, which may hold SCRAM keys."""
    document = _sealed(plan)
    del document["contents"]
    return document


def _sealed(plan: FleetPlan) -> dict[str, Any]:
    document = _document(plan)
    return {**document, "plan_sha256": _checksum(document)}


def _checksum(document: Mapping[str, Any]) -> str:
    """Over the canonical JSON of everything but the checksum itself: sorted keys, no blanks, UTF-8."""
    rest = {key: value for key, value in document.items() if key != "plan_sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
        "voters": [_voter_to_dict(voter) for voter in plan.voters],
        "static_voters": list(plan.static_voters),
        "created_ms": plan.created_ms,
        "nodes": [_node_to_dict(node, contents) for node in plan.nodes],
        "findings": [finding.to_dict() for finding in plan.findings],
        "contents": contents,
    }


def _voter_to_dict(voter: Voter) -> dict[str, Any]:
    return {
        "id": voter.node_id,
        "directory_id": str(voter.directory_id),
        "endpoints": [endpoint.to_dict() for endpoint in voter.endpoints],
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


# --- from JSON ----------------------------------------------------------------------------------------------


def parse_plan(data: bytes, *, file: str) -> tuple[FleetPlan, str]:
    """Read a plan file; gives the plan and its checksum.

    Raises InputError `not-a-plan-file` (not JSON, not a plan, a plan of another version) and RefusedError
    `plan-file-edited` where the checksum does not fit the rest.
    """
    document = _load(data, file)
    if document.get("kind") != KIND:
        raise _not_a_plan(file, f'expected "kind": "{KIND}", found {document.get("kind")!r}')
    if document.get("schema_version") != SCHEMA_VERSION:
        raise _not_a_plan(file, f"schema_version is {document.get('schema_version')!r}, this kafkactl knows 1")
    expected = _checksum(document)
    if document.get("plan_sha256") != expected:
        raise RefusedError(
            f"{file} was changed after it was planned: its checksum is {expected}, "
            f"and plan_sha256 says {document.get('plan_sha256')}",
            id="plan-file-edited",
        )
    try:
        return _plan_from(document), expected
    except (KeyError, TypeError, ValueError, AttributeError, InputError, binascii.Error) as error:
        raise _not_a_plan(file, f"{type(error).__name__}: {error}") from None


def _load(data: bytes, file: str) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError as error:
        raise _not_a_plan(file, f"byte {error.start} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _not_a_plan(file, str(error)) from None
    if not isinstance(document, dict):
        raise _not_a_plan(file, "expected a JSON object")
    return document


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        met: set[str] = set()
        twice = next(name for name, _ in pairs if name in met or met.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return table


def _not_a_plan(file: str, why: str) -> InputError:
    return InputError(
        f"{file} is not a plan of kafkactl: {why}",
        id="not-a-plan-file",
        next_step="Make one with `kafkactl storage plan INVENTORY --out plan.json`.",
    )


def _plan_from(document: Mapping[str, Any]) -> FleetPlan:
    contents = {digest: _content(digest, text) for digest, text in _table(document, "contents").items()}
    version = _table(document, "metadata_version")
    return FleetPlan(
        outcome=Outcome(document["outcome"]),
        cluster_id=_text(document, "cluster_id"),
        kafka_version=_text(document, "kafka_version"),
        release_version=None if document["release_version"] is None else _text(document, "release_version"),
        requested_features=_texts(document, "requested_features"),
        metadata_version_level=_number(version, "level"),
        metadata_version_name=_text(version, "name"),
        kraft_version=_number(document, "kraft_version"),
        features={name: _number(_table(document, "features"), name) for name in _table(document, "features")},
        mode=_text(document, "mode"),
        voters=tuple(_voter_from(voter) for voter in _tables(document, "voters")),
        static_voters=tuple(_checked(voter, int, "static_voters") for voter in _list(document, "static_voters")),
        created_ms=_number(document, "created_ms"),
        nodes=tuple(_node_from(node, contents) for node in _tables(document, "nodes")),
        findings=tuple(_finding_from(finding) for finding in _tables(document, "findings")),
    )


# --- values of a plan, whose types anybody may have changed ---


def _checked(value: Any, type_: type[_Value], key: str) -> _Value:
    if not isinstance(value, type_) or isinstance(value, bool):
        raise ValueError(f"{key} is {type(value).__name__}, expected is {type_.__name__}")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{key} is a number of more than 64 bits")
    if isinstance(value, str) and _UNFIT.search(value):
        raise ValueError(f"{key} holds a control character or half a character")
    return value


def _text(document: Mapping[str, Any], key: str) -> str:
    return _checked(document[key], str, key)


def _number(document: Mapping[str, Any], key: str) -> int:
    return _checked(document[key], int, key)


def _table(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    return _checked(document[key], dict, key)


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    return _checked(document[key], list, key)


def _tables(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    return [_checked(item, dict, key) for item in _list(document, key)]


def _texts(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_checked(item, str, key) for item in _list(document, key))


def _content(digest: str, text: Any) -> bytes:
    content = base64.b64decode(_checked(text, str, "contents"), validate=True)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"the content named {digest} has another checksum")
    return content


def _voter_from(document: Mapping[str, Any]) -> Voter:
    return Voter(
        node_id=_number(document, "id"),
        directory_id=Uuid.parse(_text(document, "directory_id")),
        endpoints=tuple(
            Endpoint(listener=_text(endpoint, "listener"), host=_text(endpoint, "host"), port=_number(endpoint, "port"))
            for endpoint in _tables(document, "endpoints")
        ),
    )


def _node_from(document: Mapping[str, Any], contents: Mapping[str, bytes]) -> PlannedNode:
    files: dict[str, list[PlannedFile]] = {}
    for file in _tables(document, "files"):
        files.setdefault(_text(file, "directory"), []).append(_file_from(file, contents))
    directories = tuple(_directory_from(item, files) for item in _tables(document, "directories"))
    values = _table(document, "config_values")
    node = PlannedNode(
        id=_number(document, "id"),
        host=_text(document, "host"),
        roles=_texts(document, "roles"),
        kafka_version=_text(document, "kafka_version"),
        config=_text(document, "config"),
        config_values={key: _text(values, key) for key in values},
        voter_mode=VoterMode(_text(document, "voter_mode")),
        mounts=_texts(document, "mounts"),
        directories=directories,
    )
    if other := sorted(set(files) - {directory.path for directory in directories}):
        raise ValueError(f"node {node.id}: {other[0]} has files and is not among the directories")
    return node


def _directory_from(document: Mapping[str, Any], files: Mapping[str, Iterable[PlannedFile]]) -> PlannedDirectory:
    directory_id, path = document["directory_id"], _text(document, "path")
    return PlannedDirectory(
        path=path,
        role=_text(document, "role"),
        directory_id=Uuid.parse(_text(document, "directory_id")) if directory_id is not None else None,
        action=Action.FORMAT,
        files=tuple(files.get(path, ())),
    )


def _file_from(document: Mapping[str, Any], contents: Mapping[str, bytes]) -> PlannedFile:
    name, mode = _text(document, "name"), document["mode"]
    if name not in _PLANNED_NAMES:
        raise ValueError(f"{name!r} is not a file that formatting writes")
    if mode not in _PLANNED_MODES:
        raise ValueError(f"{name} has the mode {mode!r}, which formatting gives to no file")
    return PlannedFile(
        name=name, content=contents[_text(document, "sha256")], mode=None if mode is None else _number(document, "mode")
    )


def _finding_from(document: Mapping[str, Any]) -> Finding:
    return Finding(
        id=_text(document, "id"),
        severity=Severity(document["severity"]),
        subject=str(document["subject"]),
        message=str(document["message"]),
        evidence=_table(document, "evidence"),
        next_step=str(document["next_step"]),
    )
