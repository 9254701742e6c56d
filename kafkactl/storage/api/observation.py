"""The observation of a node before its format: its directories, and the cluster if a disk of the node is blank."""

from __future__ import annotations

from typing import Final

from kafkactl.cluster.quorum.voters import DynamicVoter, parse_voters
from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.core.frozen import changed
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.last_copies import kept_directories, needs_log
from kafkactl.storage.format.lost_disk import needs_quorum
from kafkactl.storage.format.running_quorum import needs_answer
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import FormatRequest, ObservedNode

NO_LIMIT: Final = float("inf")
_SHARE_OF_READING = 1 / 3
_SHARE_OF_TIME = 1 / 15  # an observation asks a silent node several times, and the format has to end in its time


def observe_for_format(
    config: NodeConfig,
    request: FormatRequest,
    *,
    on_exposure: ExposureCallback = ignore_exposure,
    timeout_ms: float = NO_LIMIT,
    asks_blank: bool = True,
) -> ObservedNode:
    """Return the node as a format finds it.

    The controllers are asked if the metadata directory of one is blank: once, for a second at most, and for longer
    if the format rests on `verified_quorum`. If a directory of a broker is empty, they are asked for their
    metadata log, unless the whole broker is blank and `asks_blank` is False. `on_exposure` gets what the connection to
    them exposes, before it is opened. `timeout_ms` is the time that the whole format may take.
    """
    observed = _with_quorum(config, observe_node(config), request, on_exposure=on_exposure, timeout_ms=timeout_ms)
    if not needs_log(config, observed) or not (asks_blank or kept_directories(observed)):
        return observed
    from kafkactl.storage.io.last_copies import read_last_copies

    most_ms = _SHARE_OF_READING * timeout_ms
    expose = on_exposure if observed.quorum is None else ignore_exposure  # the same connection was shown already
    copies = read_last_copies(config, observed, request.cluster_id, on_exposure=expose, most_ms=most_ms)
    return changed(observed, last_copies=copies)


def _with_quorum(
    config: NodeConfig,
    observed: ObservedNode,
    request: FormatRequest,
    *,
    on_exposure: ExposureCallback,
    timeout_ms: float,
) -> ObservedNode:
    """Return the node with the answers of its controllers, if a format of this node needs them."""
    is_confirmed = needs_quorum(config, observed, request.overrides)
    if not is_confirmed and not needs_answer(config, observed, request):
        return observed
    from kafkactl.core.errors import InputError
    from kafkactl.kafka.api.exposure import client_exposure
    from kafkactl.storage.io.lost_disk_quorum import (
        BRIEF_MS,
        NODE_TIMEOUT_MS,
        controller_client_config,
        sample_quorum,
        see_quorum,
    )
    from kafkactl.storage.model import QuorumSeen

    try:
        way_in = controller_client_config(config)
    except InputError as error:
        return changed(observed, quorum=QuorumSeen(reason=error.message))
    on_exposure(client_exposure(way_in))
    node_timeout_ms = min(NODE_TIMEOUT_MS if is_confirmed else BRIEF_MS, _SHARE_OF_TIME * timeout_ms)
    if is_confirmed:
        return changed(observed, quorum=see_quorum(config, way_in, node_timeout_ms=node_timeout_ms))
    voters = _named_voters(request)
    return changed(observed, quorum=sample_quorum(config, way_in, voters, node_timeout_ms=node_timeout_ms))


def _named_voters(request: FormatRequest) -> tuple[DynamicVoter, ...]:
    """Return the voters of --initial-controllers; a text that is none is refused when the format is planned."""
    from kafkactl.core.errors import InputError

    try:
        return parse_voters(request.initial_controllers) if request.initial_controllers else ()
    except InputError:
        return ()
