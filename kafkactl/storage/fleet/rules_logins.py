"""Fleet rules about SASL between controllers: mechanisms that need the metadata log, or that no listener offers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kafkactl.core.findings import Finding, Severity
from kafkactl.storage.config.logins import (
    CONTROLLER_MECHANISM,
    SCRAM,
    controller_listener,
    controller_mechanism,
    enabled_mechanisms,
)
from kafkactl.storage.fleet.model import FLEET, Fleet, nodes_text
from kafkactl.storage.fleet.rules_quorum import first_voter_ids


def _scram_between_controllers(fleet: Fleet) -> Iterator[Finding]:
    """Report SCRAM between several first voters: the users are in the log that the first leader would write."""
    using = [node for node in fleet.controllers if controller_mechanism(node.config) in SCRAM]
    if not using or (len(first_voter_ids(fleet)) < 2 and not fleet.inventory.existing_cluster):
        return
    is_new = not fleet.inventory.existing_cluster
    mechanisms = sorted({str(controller_mechanism(node.config)) for node in using})
    why = (
        "no first leader is ever elected" if is_new else "no leader is elected once a majority of them has been stopped"
    )
    yield Finding(
        id="scram-between-controllers",
        severity=Severity.BLOCKER if is_new else Severity.WARNING,
        subject=FLEET,
        message=f"{nodes_text(node.entry.id for node in using)} log in to the other controllers with"
        f" {', '.join(mechanisms)}, whose users are in the metadata log: {why}",
        evidence={"nodes": [node.entry.id for node in using]},
    )


def _mechanism_offered(fleet: Fleet) -> Iterator[Finding]:
    """Check that each controller offers the mechanism with which every node logs in."""
    refused: dict[tuple[str, int], list[int]] = defaultdict(list)
    offers = {}
    for controller in fleet.controllers:
        listener = controller_listener(controller.config)
        if listener is not None:
            offers[controller.entry.id] = enabled_mechanisms(controller.config, listener)
    for node in fleet.nodes:
        mechanism = controller_mechanism(node.config)
        for controller_id, offered in offers.items() if mechanism is not None else ():
            if mechanism not in offered:
                refused[str(mechanism), controller_id].append(node.entry.id)
    for (mechanism, controller_id), ids in refused.items():
        yield Finding(
            id="controller-mechanism-not-enabled",
            severity=Severity.BLOCKER,
            subject=f"node {controller_id}",
            message=f"{nodes_text(ids)} log in at the controllers with {mechanism}; the listener of controller"
            f" {controller_id} offers {', '.join(offers[controller_id]) or 'nothing'}",
            evidence={"nodes": ids, "mechanism": mechanism},
            next_step=f"Set {CONTROLLER_MECHANISM} to a mechanism that every controller offers.",
        )


LOGIN_RULES = (_scram_between_controllers, _mechanism_offered)
