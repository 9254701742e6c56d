"""Commands on voters that are gone or unreachable from here: over sockets, with a fake quorum."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum, directory_of
from tests.conftest import Run


@pytest.fixture
def ask(kafkactl: Callable[..., Run], tmp_path):
    """Return `ask(quorum, "quorum", "describe")`: a command against controller 1 of it, with JSON."""

    def run(quorum, *words):
        group, verb, *rest = words
        journal = ("--journal", str(tmp_path / "journal")) if verb in ("remove-controller", "reassign") else ()
        address = str(quorum.address(1))
        return kafkactl(group, verb, *rest, *journal, "--bootstrap-controller", address, "-o", "json")

    return run


def _remove(node_id):
    return ("quorum", "remove-controller", "-i", str(node_id), "-d", str(directory_of(node_id)))


@pytest.mark.parametrize("dry_run", [("--dry-run",), ()])
@pytest.mark.parametrize("ago_ms", [100, pytest.param(1_500, marks=pytest.mark.slow), 3_000])
def test_healthy_voter_is_not_removed_while_another_has_just_failed(ask, ago_ms, dry_run):
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        quorum.kill(3, ago_ms=ago_ms)
        run = ask(quorum, *_remove(2), *dry_run)
        assert (run.code, run.json["outcome"], quorum.effects) == (3, "refused", [])
    (wedge,) = [finding for finding in run.json["findings"] if finding["id"] == "quorum-would-wedge"]
    assert wedge["severity"] == "blocker"
    assert "controller 3 did not advance in" in wedge["message"]
    assert "does not answer at its endpoint" in wedge["message"]


@pytest.mark.slow
def test_dead_one_may_go(ask):
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        quorum.kill(3)
        run = ask(quorum, *_remove(3))
        assert (run.code, quorum.effects) == (0, [("remove", 3)])


def test_unreachable_voter_that_fetches_is_shown_as_alive_with_the_reason(ask):
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        quorum.cut(3)
        described = ask(quorum, "quorum", "describe")
        run = ask(quorum, *_remove(2), "--dry-run")
        assert (run.code, run.json["outcome"]) == (0, "planned")
    for answer in (described.json, run.json):
        (silent,) = [finding for finding in answer["findings"] if finding["id"] == "voter-endpoint-silent"]
        assert "fetches from the leader" in silent["message"]
    third = described.json["voters"][2]
    assert (third["alive"], described.json["tolerates"]) == (True, 1)
    assert "does not answer at its endpoint from here" in third["evidence"]


def test_describe_does_not_call_alive_what_is_refused_and_does_not_fetch(ask):
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        quorum.kill(3, ago_ms=0)
        answer = ask(quorum, "quorum", "describe").json
    assert [voter["alive"] for voter in answer["voters"]] == [True, True, False]
    assert answer["tolerates"] == 0
    assert "voter-is-dead" in {finding["id"] for finding in answer["findings"]}


@pytest.mark.parametrize(("gone", "verdict", "code"), [((), "degraded", 0), ((3,), "wedged", 7)])
def test_prediction_from_the_cluster_knows_who_is_down_now(ask, gone, verdict, code):
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        for node_id in gone:
            quorum.kill(node_id)
        run = ask(quorum, "dryrun", "controllers", "--from-cluster", "--remove", "2")
    assert (run.code, run.json["verdict"]) == (code, verdict), run.json
    assert run.json["input"]["down"] == list(gone)
    assert ("controller-not-fetching" in {finding["id"] for finding in run.json["findings"]}) is bool(gone)
    assert "were seen to follow controller 1 in epoch 3" in " ".join(run.json["assumptions"])
