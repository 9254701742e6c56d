"""SASL between the controllers of a fleet and of a single format; static voters whose addresses cannot be right."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Outcome, blockers
from kafkactl.storage.model import VoterMode
from tests.storage.fleet.fleets import FleetBuilder, found
from tests.storage.format.planning import SCRAM, VOTERS, plan

MAP = "listener.security.protocol.map"
SASL = {MAP: "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT"}
BY_SCRAM = SASL | {
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
}
BY_PLAIN = SASL | {"sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.controller.protocol": "PLAIN"}
ALL = range(1, 7)
NODE = {key.replace(".", "_"): value for key, value in BY_SCRAM.items()}


@pytest.mark.parametrize("static", [True, False])
def test_fleet_of_several_voters_by_scram_is_refused(static):
    planned = FleetBuilder(static=static, configs=dict.fromkeys(ALL, BY_SCRAM)).plan()
    (finding,) = found(planned, "scram-between-controllers")
    assert planned.outcome is Outcome.REFUSED
    assert finding.evidence["nodes"] == [1, 2, 3]
    assert "PLAIN" in finding.advice


@pytest.mark.parametrize(
    "builder",
    [
        FleetBuilder(configs=dict.fromkeys(ALL, BY_PLAIN)),
        FleetBuilder(controllers=(1,), configs=dict.fromkeys(ALL, BY_SCRAM)),
        FleetBuilder(configs={node_id: {MAP: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"} | {
            "sasl.mechanism.controller.protocol": "SCRAM-SHA-256"} for node_id in ALL}),
    ],
)  # fmt: skip
def test_fleet_whose_controllers_can_log_in_is_planned(builder):
    planned = builder.plan()
    assert not found(planned, "scram-between-controllers"), planned.findings
    assert not blockers(planned.findings), planned.findings


def test_controllers_that_join_a_running_quorum_by_scram_are_a_warning():
    planned = FleetBuilder(inventory={"existing_cluster": True}, configs=dict.fromkeys(ALL, BY_SCRAM)).plan()
    (finding,) = found(planned, "scram-between-controllers")
    assert finding.severity.value == "warning"


def test_broker_with_a_mechanism_that_a_controller_does_not_offer_is_a_blocker():
    configs = dict.fromkeys(ALL, BY_PLAIN) | {5: BY_SCRAM}
    findings = found(FleetBuilder(configs=configs).plan(), "controller-mechanism-not-enabled")
    assert {finding.subject for finding in findings} == {"node 1", "node 2", "node 3"}
    assert all(finding.evidence == {"nodes": [5], "mechanism": "SCRAM-SHA-256"} for finding in findings)


def test_static_voters_at_one_address_are_refused():
    voters = "1@h1.example:9093,2@h2.example:9093,3@h2.example:9093"
    planned = FleetBuilder(
        static=True, configs={node_id: {"controller.quorum.voters": voters} for node_id in ALL}
    ).plan()
    (finding,) = found(planned, "voters-share-address")
    assert finding.evidence["nodes"] == [2, 3] and planned.outcome is Outcome.REFUSED


@pytest.mark.parametrize(("hosts", "is_found"), [(6, True), (1, False)])
def test_static_loopback_voter_of_several_hosts_is_a_warning(hosts, is_found):
    voters = "1@h1.example:9093,2@localhost:9093,3@h3.example:9093"
    builder = FleetBuilder(static=True, configs={node_id: {"controller.quorum.voters": voters} for node_id in ALL})
    if hosts == 1:
        builder.nodes = {node_id: {"host": "h1"} for node_id in ALL}
    assert bool(found(builder.plan(), "voter-endpoint-loopback")) is is_found


@pytest.mark.parametrize(
    ("asked", "severity"),
    [
        ({"voter_mode": VoterMode.INITIAL_CONTROLLERS, "initial_controllers": VOTERS}, "blocker"),
        ({"voter_mode": VoterMode.INITIAL_CONTROLLERS, "initial_controllers": VOTERS, "scram": (SCRAM,)}, "blocker"),
        ({"voter_mode": VoterMode.STANDALONE, "scram": (SCRAM,)}, None),
        ({"voter_mode": VoterMode.NO_INITIAL_CONTROLLERS}, None),
    ],
)
def test_format_of_the_first_voters_by_scram_is_refused(asked, severity):
    findings = [found for found in plan(node=NODE, **asked).findings if found.id == "scram-between-controllers"]
    assert [finding.severity.value for finding in findings] == ([severity] if severity else [])


@pytest.mark.parametrize(("scram", "severity"), [((SCRAM,), "blocker"), ((), "warning")])
def test_format_of_a_static_voter_by_scram_may_replace_one_of_a_quorum_that_runs(scram, severity):
    node = NODE | {"static": True, "controller_quorum_voters": "1@one:9093,2@two:9093"}
    (finding,) = [
        found for found in plan("3.9", node=node, scram=scram).findings if found.id == "scram-between-controllers"
    ]
    assert finding.severity.value == severity
