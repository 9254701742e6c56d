"""A candidate that could not be asked: a missing right or login is named, and reachability only without one."""

from __future__ import annotations

from dataclasses import replace

from kafkactl.core.findings import Outcome, change_exit_code, note, warning
from kafkactl.quorum.plan import plan_reassignment
from kafkactl.quorum.target import parse_target
from tests.quorum.worlds import world

GRANT = "kafka-acls.sh --add --operation Alter --cluster"
DENIED = note("question-denied", "DescribeCluster", "denied", GRANT, request="DescribeCluster")
OTHER_LOGIN = warning("controllers-out-of-reach", "controllers", "they take PLAIN", "Give --controller-command-config.")


def test_candidate_whose_address_may_not_be_asked_for_needs_a_right_or_a_login():
    state = world("1 2 3", observers="4 5").observe()
    known = {node_id: node for node_id, node in state.nodes.items() if node_id < 4}
    for finding, step in ((DENIED, GRANT), (OTHER_LOGIN, OTHER_LOGIN.next_step), (None, "Make the node's controller")):
        found = replace(state, nodes=known, registrations=None, findings=() if finding is None else (finding,))
        plan = plan_reassignment(found, parse_target("1,2,3,4,5"))
        candidates = [item for item in plan.findings if item.id == "candidate-not-identified"]
        assert {item.subject for item in candidates} == {"node 4", "node 5"}
        assert all(item.advice.startswith(step) for item in candidates)
        assert change_exit_code(Outcome.REFUSED, candidates) == (3 if finding is None else 4)
