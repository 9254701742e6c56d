"""Values on the live nodes of the settings in schemas/node_settings.toml, each node queried for its own.

A broker describes its own configuration at all releases, a controller from 3.7 on (KIP-919), to those who may
DESCRIBE_CONFIGS on the cluster. Invariant: a node that was not read is named with the reason, and its values are
unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kafkactl.cluster.io.configured_addresses import own_settings_request
from kafkactl.cluster.io.places import Seat
from kafkactl.cluster.io.view import NODE_TIMEOUT_MS, ObservedCluster
from kafkactl.cluster.node_settings import NodeSettings, asked_keys, of_answer, of_file
from kafkactl.cluster.state import ClusterState
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.kafka.client import Client
from kafkactl.kafka.other_login import login_step
from kafkactl.net.transport import Address
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import CLUSTER_DENIED, not_authorised, server_text
from kafkactl.protocol.text.java_text import parse_int, split_list
from kafkactl.protocol.text.properties import parse_properties

_FILE_INSTEAD: Final = "request-not-supported"
"""Error of a node that describes no settings: only its file shows them, which is the remedy of the finding."""


@frozen
class Unread:
    """A node whose settings are not known. `live` is True if the node answers or may answer; `why` is the reason as
    text, `reason` its id.

    `step` is the next step, "" for the remedy of the finding.
    """

    id: int
    role: Role
    live: bool
    why: str
    reason: str
    step: str = ""

    @property
    def name(self) -> str:
        """Return `controller 3`."""
        return f"{self.role.value} {self.id}"


@frozen
class SettingsView:
    """The nodes that were read, by wire or file, and those that were not."""

    nodes: tuple[NodeSettings, ...]
    unread: tuple[Unread, ...]


def observe_settings(
    client: Client,
    view: ObservedCluster,
    files: Iterable[NodeSettings] = (),
    *,
    node_timeout_ms: float = NODE_TIMEOUT_MS,
) -> SettingsView:
    """Ask every node of `view` that answers; `files` stand in for nodes that could not be asked. Raises nothing."""
    given = {(settings.role, settings.id): settings for settings in files}
    nodes: list[NodeSettings] = []
    unread: list[Unread] = []
    for seat in view.seats:
        with client.sibling(seat.role, seat.addresses, timeout_ms=node_timeout_ms) as asking:
            found = _asked(asking, view.state, seat, client.role)
        spare = given.pop((seat.role, seat.id), None)
        if isinstance(found, NodeSettings):
            nodes.append(found)
        elif spare is not None:
            nodes.append(spare)
        else:
            unread.append(found)
    return SettingsView(nodes=(*nodes, *given.values()), unread=tuple(unread))


def read_settings_file(path: str) -> tuple[NodeSettings, ...]:
    """Return the settings of a node from its properties file, once for each of its roles.

    Raises InputError `input-file-unreadable`, or `settings-file-without-node` if the file does not say which KRaft node
    it belongs to, and DecodeError if it is not a valid properties file.
    """
    given = {
        key: value.strip()
        for key, value in parse_properties(
            read_input(Path(path), "configuration file", InputKind.NODE_CONFIG), file=path
        ).mapping.items()
    }
    node_id = parse_int(given.get("node.id", ""))
    roles = [Role(role) for role in split_list(given.get("process.roles", "")) if role in set(Role)]
    if node_id is None or not roles:
        raise InputError(
            f"{path} has no node.id or no process.roles: which KRaft node it belongs to is not known",
            id="settings-file-without-node",
        )
    return tuple(of_file(given, id=node_id, role=role, file=path) for role in roles)


def describe_own(client: Client, address: Address, node_id: int, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return a node's own configurations of these keys, with the values of lower precedence.

    Raises UnreachableError: `not-authorised`, `settings-not-described`, or those of the connection.
    """
    body = {**own_settings_request(node_id, keys), "IncludeSynonyms": True}
    answer = client.ask_node(address, "DescribeConfigs", body)
    result: Mapping[str, Any] = next(iter(answer.body["Results"]), {"ErrorCode": -1, "ErrorMessage": None})
    if result["ErrorCode"]:
        code, text = result["ErrorCode"], result["ErrorMessage"]
        if code == CLUSTER_DENIED:
            raise not_authorised("DescribeConfigs", str(address), client.login, text)
        raise UnreachableError(
            f"{address} does not describe its settings: {error_code(code).name}",
            id="settings-not-described",
            cause=server_text(text) or None,
            next_step="Look into that node's log.",
        )
    return list(result["Configs"])


def _asked(client: Client, state: ClusterState, seat: Seat, named: Role) -> NodeSettings | Unread:
    node = state.node(seat.role, seat.id)
    hidden = None if node is None else node.not_asked
    unread = Unread(
        id=seat.id,
        role=seat.role,
        live=True,
        why="its address is unknown",
        reason="no-address",
        step="" if hidden is None else hidden.step,
    )
    if node is not None and node.answers is False:
        return changed(unread, live=False, why="it does not answer", reason="node-silent")
    versions = None if node is None else node.versions
    release = None if versions is None else release_of(versions.supported.get(METADATA_VERSION))
    # A listener answers ApiVersions before a login, so that alone accepts nothing.
    accepted = {each.role for each in state.nodes if each.named_itself and each.id != seat.id}
    for address in seat.addresses:
        try:
            configs = describe_own(client, address, seat.id, asked_keys())
            return of_answer(configs, id=seat.id, role=seat.role, release=release)
        except KafkactlError as error:
            step = login_step(error, asked=seat.role, named=named, accepted=accepted)
            step = "" if error.id == _FILE_INSTEAD else step
            unread = changed(unread, why=error.message, reason=error.id, step=step)
    return unread
