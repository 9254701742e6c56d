"""The controllers of a configuration, asked before the blank metadata directory of one of them is formatted.

Before a first format they are asked once, for a second at most; a lost disk is replaced only after it was seen for some
seconds who follows the leader. Addresses and credentials are those of the node's own configuration, which it will use
to find the quorum when it starts. A node that cannot be asked is a reason to refuse, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.cluster.quorum.voters import LOCALHOST as _LOCALHOST
from kafkactl.cluster.quorum.voters import DynamicVoter, parse_host_port
from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.client_config import ClientConfig, client_config_of
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.storage.config.controller_access import controller_client_properties
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.model import QuorumSeen

NODE_TIMEOUT_MS = 2_000.0
BRIEF_MS = 1_000.0
_ELECTION_MS = 1_500.0  # an election takes one to two seconds at Kafka's defaults
_OBSERVATIONS = 3
_NOT_REACHED = frozenset(
    {"connection-refused", "connection-timed-out", "connection-failed", "unknown-host", "no-node-answered"}
)


def controller_client_config(config: NodeConfig) -> ClientConfig:
    """Return the client configuration of this node at the controllers. Raise InputError if kafkactl cannot use it."""
    return client_config_of(controller_client_properties(config), file=config.file)


def see_quorum(config: NodeConfig, way_in: ClientConfig, *, node_timeout_ms: float = NODE_TIMEOUT_MS) -> QuorumSeen:
    """Observe the quorum without this node; one silent node takes `node_timeout_ms`. Raise nothing."""
    seen = QuorumSeen(
        voter_ids=frozenset(voter.node_id for voter in config.static_voters),
        reason=f"{config.file} names no other controller",
    )
    return _seen(seen, other_controllers(config), way_in, node_timeout_ms, _proven_state)


def sample_quorum(
    config: NodeConfig, way_in: ClientConfig, voters: Iterable[DynamicVoter] = (), *, node_timeout_ms: float = BRIEF_MS
) -> QuorumSeen:
    """Return the answers of the configured controllers and of `voters` to one request each. Raises nothing.

    This node's own addresses are among them: another process may answer there.
    """
    places: dict[Address, int | None] = {
        Address(endpoint.host or _LOCALHOST, endpoint.port): None for endpoint in config.controller_endpoints
    }
    places |= {Address(voter.host, voter.port): voter.node_id for voter in voters if voter.host and voter.port}
    places |= other_controllers(config)
    seen = QuorumSeen(reason=f"{config.file} names no controller")
    return _seen(seen, places, way_in, node_timeout_ms, _state_at_once)


def _seen(
    seen: QuorumSeen,
    places: Mapping[Address, int | None],
    way_in: ClientConfig,
    node_timeout_ms: float,
    state_of: Callable[[Client, float], QuorumState],
) -> QuorumSeen:
    if not places:
        return seen
    try:
        limits = Limits(timeout_ms=node_timeout_ms, request_timeout_ms=node_timeout_ms)
        with Client(tuple(places), Role.CONTROLLER, access=way_in.access(), limits=limits) as client:
            answers = client.versions(tuple(places))
            seen = changed(seen, refused=_refused(places, answers))
            versions = [answer for answer in answers.values() if isinstance(answer, NodeVersions)]
            if not versions:
                return changed(seen, reason="; ".join(_messages(answers)), is_reached=_is_reached(answers))
            return changed(
                seen,
                state=state_of(client, node_timeout_ms),
                reason="",
                registered=_registered(client),
                has_loaded=any(METADATA_VERSION in answer.finalized for answer in versions),
            )
    except KafkactlError as error:
        return changed(seen, reason=error.message)


def _registered(client: Client) -> frozenset[int] | None:
    """Return the controllers that the cluster has registered.

    None if no controller may or can name them (before 3.7).
    """
    try:
        return frozenset(node.id for node in client.cluster().nodes)
    except KafkactlError:
        return None


def _state_at_once(client: Client, node_timeout_ms: float) -> QuorumState:
    """Return the quorum as it answers once. Raises as `observe`."""
    with QuorumObserver(client, node_timeout_ms=node_timeout_ms) as observer:
        return observer.observe()


def other_controllers(config: NodeConfig) -> Mapping[Address, int | None]:
    """Return the addresses of controllers other than this node, with their ids if the configuration contains them."""
    voters = {Address(voter.host, voter.port): voter.node_id for voter in config.static_voters}
    if voters:
        return {address: node_id for address, node_id in voters.items() if node_id != config.node_id}
    own = {Address(endpoint.host or _LOCALHOST, endpoint.port) for endpoint in config.controller_endpoints}
    servers = [Address(*found) for text in config.bootstrap_servers if (found := parse_host_port(text)) is not None]
    return {address: None for address in servers if address not in own}


def _refused(
    places: Mapping[Address, int | None], answers: Mapping[Address, NodeVersions | KafkactlError]
) -> frozenset[int]:
    refused = {
        at for at, answer in answers.items() if isinstance(answer, KafkactlError) and answer.id == "connection-refused"
    }
    return frozenset(node_id for address, node_id in places.items() if node_id is not None and address in refused)


def _is_reached(answers: Mapping[Address, NodeVersions | KafkactlError]) -> bool:
    """Return True if a process was at any of the addresses: the connection was made, and what followed was refused."""
    return any(isinstance(answer, KafkactlError) and answer.id not in _NOT_REACHED for answer in answers.values())


def _messages(answers: Mapping[Address, NodeVersions | KafkactlError]) -> list[str]:
    return [answer.message for answer in answers.values() if isinstance(answer, KafkactlError)]


def _proven_state(client: Client, node_timeout_ms: float) -> QuorumState:
    """Return the quorum with evidence of who follows the leader; an election on the way is waited for.

    Raises as `prove`.
    """
    with QuorumObserver(client, node_timeout_ms=node_timeout_ms) as observer:
        for left in reversed(range(_OBSERVATIONS)):
            state = observer.prove(rounds=2)
            if state.has_leader or not left:
                break
            observer.sleep_ms(_ELECTION_MS)
        return state
