"""Addresses of voters against this node's own: two voters at one address, an entry that leads nowhere, old names.

Static voters are asked where controller.quorum.voters says, dynamic ones where the voter set on the disk says; what a
node advertises in its file counts only after a leader took it into the voter set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.findings import Severity
from kafkactl.core.values import host_port
from kafkactl.core.wording import some
from kafkactl.metadata.log.scan import VoterSeen
from kafkactl.storage.config.voter_addresses import own_static_entry_elsewhere, shared_addresses, unroutable_voters
from kafkactl.storage.verify.model import Loss, Phase, RuleResult, StartContext, finding, loses, stops, warns
from kafkactl.storage.verify.voters import last_voters


def address_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the problems of the addresses under which the voters find each other."""
    yield from _unroutable(context)
    voters = last_voters(context)
    if voters is None and context.config.static_voters:
        yield from _shared(context)
        yield from _own_port(context)
    elif voters is not None and context.is_controller and not context.config.static_voters:
        yield from _moved(context, voters)


def _unroutable(context: StartContext) -> Iterator[RuleResult]:
    for problem in unroutable_voters(context.config, context.release):
        subject, text = f"node {context.config.node_id}", f"{problem.key} names the host 0.0.0.0: {problem.words}."
        yield stops(problem.id, Phase.CONFIG, subject, text, says=problem.words, next_step=problem.next_step)


def _shared(context: StartContext) -> Iterator[RuleResult]:
    voters = context.config.static_voters
    shared = shared_addresses(voters)
    if not shared:
        return
    texts = "; ".join(f"voters {', '.join(map(str, ids))} at {address}" for address, ids in shared.items())
    message = (
        f"controller.quorum.voters has several voters at the same address: {texts}. An address is that of one node"
    )
    reached = len(voters) - sum(len(ids) - 1 for ids in shared.values())
    subject, id = f"node {context.config.node_id}", "voters-share-address"
    if reached >= majority(len(voters)):
        yield warns(id, subject, f"{message}, so {len(voters) - reached} of them can never be reached.")
        return
    message += ", so a majority of the voters can never be reached, and no leader is elected."
    if context.is_broker:
        says = "no error is logged; the node waits indefinitely"
        yield stops(id, Phase.WAITING_FOR_QUORUM, subject, message, says=says, waits=True)
    else:
        loss = Loss(what="vote", subject=subject, message="The controller runs, and never has a leader.")
        yield loses(id, subject, message, loss)


def _own_port(context: StartContext) -> Iterator[RuleResult]:
    config = context.config
    found = own_static_entry_elsewhere(config)
    if found is None or not context.is_controller:
        return
    voter, ports = found
    entry = host_port(voter.host, voter.port)
    alone = len(config.static_voters) == 1
    message = (
        f"controller.quorum.voters has this node at {entry}, and its controller listeners are on port"
        f" {some(map(str, ports))}: unless something forwards port {voter.port}, no other node reaches this controller"
        + (", and its own broker waits for it indefinitely." if alone and context.is_broker else ".")
    )
    found_here = finding(
        "voter-endpoint-mismatch",
        Severity.WARNING,
        f"node {config.node_id}",
        message,
        next_step=f"Write the port of the listener into controller.quorum.voters on every node, or listen on"
        f" {voter.port}.",
        entry=entry,
        listening=ports,
    )
    yield RuleResult(finding=found_here, unknown=alone and context.is_broker)


def _moved(context: StartContext, voters: tuple[VoterSeen, ...]) -> Iterator[RuleResult]:
    """Report a voter whose entry has another address than it advertises, while its quorum may use old addresses."""
    own_id = context.config.node_id
    entry = next((voter for voter in voters if voter.node_id == own_id), None)
    now = [host_port(found.host or "localhost", found.port) for found in context.config.controller_endpoints]
    if entry is None or not now or set(map(_key, now)) & set(map(_key, entry.endpoints)):
        return
    others = {voter.node_id: voter.endpoints for voter in voters if voter.node_id != own_id}
    if not others:
        return  # a sole voter elects itself, and writes its new address as leader
    stored = ", ".join(entry.endpoints)
    known = defaultdict(list)
    for node_id, endpoints in others.items():
        known[bool(set(map(_key, endpoints)) & set(map(_key, context.config.bootstrap_servers)))].append(node_id)
    subject = f"node {own_id}"
    message = f"The voter set on the disk has this node at {stored}; its file advertises {', '.join(now)}."
    if known[True] or not context.config.bootstrap_servers:
        yield warns(
            "voter-address-differs",
            subject,
            f"{message} The others ask the old address"
            + (" until a leader has taken the new one over." if context.rules.followers_report_addresses else "."),
            next_step=f"Start the node while a majority of the other voters runs. {_then(context)}",
            stored=list(entry.endpoints),
            advertised=now,
        )
        return
    listed = "; ".join(f"{node_id} at {', '.join(endpoints)}" for node_id, endpoints in sorted(others.items()))
    found = finding(
        "voters-at-old-addresses",
        Severity.BLOCKER,
        subject,
        f"{message} The other voters are {listed}, and controller.quorum.bootstrap.servers has only"
        f" {some(context.config.bootstrap_servers)}. If the old addresses lead to no controller any more, no leader is"
        " ever elected: voters ask each other at the addresses of the voter set, and only a leader can change them.",
        next_step="Make the old names and ports lead to the controllers for one start (hosts file, DNS or a port"
        f" forward). {_then(context)}",
        stored={str(voter.node_id): list(voter.endpoints) for voter in voters},
        advertised=now,
    )
    yield RuleResult(finding=found, unknown=True)


def _then(context: StartContext) -> str:
    """Return the next step that brings the new addresses into the voter set after an election."""
    if context.rules.followers_report_addresses:
        return "Within seconds the leader takes the new address of each voter into the voter set."
    return (
        f"Kafka {context.release.name} then writes the leader's own address only: keep the old ones until each other"
        " controller is removed (kafka-metadata-quorum.sh remove-controller) and added again (add-controller)."
    )


def _key(address: str) -> str:
    """Return an address for comparing: in lower case, without the brackets of IPv6."""
    return address.lower().replace("[", "").replace("]", "")
