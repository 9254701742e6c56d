"""Observation of a status from the answers to its questions, some of them late."""

from __future__ import annotations

import pytest

import kafkactl
from kafkactl.commands.demo.cluster import FakeCluster
from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.frozen import changed
from kafkactl.status.api import watch
from kafkactl.status.api.watch import StatusWatch
from kafkactl.status.io.asking import LATE

NO_LEADER = UnreachableError("no controller leads the quorum", id="no-active-controller")


@pytest.mark.parametrize(
    ("log", "reason"), [(NO_LEADER, "no controller leads the quorum"), (LATE, "no answer came in time")]
)
def test_late_nodes_have_the_reason_that_is_known(monkeypatch: pytest.MonkeyPatch, log, reason):
    with (
        FakeCluster() as cluster,
        kafkactl.connect(bootstrap_controller=str(cluster.address)) as client,
        StatusWatch(client) as asking,
    ):
        found = watch.ask_all(asking._questions, asking._limits_ms())
        monkeypatch.setattr(watch, "ask_all", lambda *_: found | {"nodes": LATE, "log": log})
        status = asking.status()
    levels = next(area for area in status.areas if area.area == "levels")
    assert (levels.verdict.value, levels.text) == ("unknown", f"not known: {reason}")


@pytest.mark.parametrize("log", [NO_LEADER, LATE])
def test_nodes_that_waited_for_the_log_have_the_reason_that_is_known(monkeypatch: pytest.MonkeyPatch, log):
    with (
        FakeCluster() as cluster,
        kafkactl.connect(bootstrap_controller=str(cluster.address)) as client,
        StatusWatch(client) as asking,
    ):
        found = watch.ask_all(asking._questions, asking._limits_ms())
        view, nodes = found["nodes"]
        waited = changed(nodes.state, registrations=None, brokers_known=False, log_error=LATE, leader_error=LATE)
        found |= {"nodes": (view, changed(nodes, state=waited)), "log": log}
        monkeypatch.setattr(watch, "ask_all", lambda *_: found)
        state = asking.observe().nodes.state
    reason = LATE.reason if log is LATE else NO_LEADER.message
    assert (state.log_error.reason, state.leader_error.reason) == (reason, reason)


def test_addresses_of_two_clusters_are_refused():
    with FakeQuorum() as first, FakeQuorum() as second:
        second.cluster_id = "another"
        addresses = f"{first.address(1)},{second.address(1)}"
        with (
            kafkactl.connect(bootstrap_controller=addresses) as client,
            StatusWatch(client) as asking,
            pytest.raises(InputError, match="belong to 2 clusters") as caught,
        ):
            asking.observe()
    assert caught.value.id == "bootstrap-of-several-clusters"
