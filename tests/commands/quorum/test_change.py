"""The commands that change a quorum, on a simulated one: output, exit codes, and which nodes are asked."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import pytest

from kafkactl.commands.quorum import change_run as quorum_change_run
from kafkactl.core.errors import UnknownOutcomeError, UnreachableError
from kafkactl.core.findings import blocker
from kafkactl.quorum.outcome import Answer
from tests.quorum.scripted_port import LOST, TIMED_OUT, Reaction, SteppedQuorum
from tests.quorum.worlds import CLUSTER_ID, directory, world

HOSTILE_LINES = {
    "quorum add-controller": ("{controllers} --dry-run",),
    "quorum remove-controller": ("-i 1 -d {id} {controllers} --dry-run", "-i 1 -d {text} {controllers}"),
    "quorum reassign": ("--target 1,2,3 {controllers} --dry-run", "--target {text} {controllers}"),
    "quorum convert": ("{controllers} --dry-run",),
    "quorum recover": ("--log-dir {log} --out {new} --plan", "--log-dir {text} --out {new} --plan"),
    "quorum recover collect": ("{text} --to {new}",),
    "quorum recover verify": ("{config}",),
}

HOSTILE_PATHS = {
    "quorum reassign": [
        ("--out", "--target 1,2,3 {connect} --out {}", (2, 3, 4)),
    ],
    "quorum recover": [
        ("--broker-log-dir", "--out {new} --log-dir {log} --broker-log-dir {} --plan", (2, 3, 7)),
        ("--out", "--log-dir {log} --out {} --config {config}", (1, 2, 3)),
        ("--from", "--out {new} --log-dir {log} --from {} --plan", (2, 3)),
        ("--config", "--out {new} --log-dir {log} --config {}", (2, 3)),
    ],
    "quorum recover collect": [
        ("directory", "{} --to {new}"),
        ("--to", "{log} --to {}"),
    ],
    "quorum recover verify": [
        ("plan", "{}"),
    ],
}

SERVERS = ("--bootstrap-controller", "c1:9093")
CONFIG = """process.roles=controller
node.id=4
controller.listener.names=CONTROLLER
listeners=CONTROLLER://c4:9093
controller.quorum.bootstrap.servers=c1:9093
log.dirs={directory}
"""


@pytest.fixture
def run_quorum(monkeypatch, tmp_path, kafkactl):
    """Return `run_quorum(quorum, "remove-controller", …)`: run a command on a simulated quorum, with its own
    journal."""

    def run(quorum, verb, *words, **options):
        @contextlib.contextmanager
        def opened(*_, **__):
            yield quorum

        monkeypatch.setattr("kafkactl.quorum.io.live_quorum.LiveQuorum", opened)
        monkeypatch.setattr(quorum_change_run, "open_client", opened)
        monkeypatch.setattr("kafkactl.files.clock.SystemClock", lambda: quorum.clock)
        journal = ("--journal", str(tmp_path / "journal.jsonl"))
        return kafkactl("quorum", verb, *SERVERS, *journal, *words, **options)

    return run


@pytest.fixture
def candidate(tmp_path):
    """Return the server.properties of controller 4, formatted."""
    (tmp_path / "data").mkdir()
    meta = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=4\ndirectory.id={directory('a')}\n"
    (tmp_path / "data" / "meta.properties").write_text(meta)
    file = tmp_path / "server.properties"
    file.write_text(CONFIG.format(directory=tmp_path / "data"))
    return str(file)


def _remove(node_id, letter="a"):
    return ("-i", str(node_id), "-d", str(directory(letter)))


def test_removal_prints_the_text_of_kafkas_tool(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3 4"))
    dry = run_quorum(quorum, "remove-controller", *_remove(4), "--dry-run")
    assert dry.code == 0
    assert dry.stdout.startswith(f"DRY RUN of removing KRaft controller 4 with directory id {directory('a')}\n")
    done = run_quorum(quorum, "remove-controller", *_remove(4))
    assert done.code == 0, done.stderr
    assert done.stdout.startswith(f"Removed KRaft controller 4 with directory id {directory('a')}\n")
    again = run_quorum(quorum, "remove-controller", *_remove(4), "-o", "json")
    assert (again.code, again.json["outcome"], again.json["steps"]) == (0, "nothing-to-do", [])
    assert quorum.sent == ["remove 4"]


def test_wedge_is_refused_with_its_sum(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3", dead="3"))
    run = run_quorum(quorum, "remove-controller", *_remove(2), "-o", "json")
    assert (run.code, run.json["outcome"], quorum.sent) == (3, "refused", [])
    (wedge,) = [finding for finding in run.json["findings"] if finding["id"] == "quorum-would-wedge"]
    assert "voters {1,3}, majority 2, alive {1}" in wedge["message"]
    assert "quorum-would-wedge" in run_quorum(quorum, "remove-controller", *_remove(2), "--dry-run").stdout


@pytest.mark.parametrize(
    ("reaction", "code", "outcome"),
    [
        (Reaction(answer=TIMED_OUT, commits_after_ms=1e9), 6, "unknown"),
        (Reaction(answer=Answer(code=104), taken=False), 1, "failed"),
        (Reaction(answer=Answer(code=31), taken=False), 4, "failed"),
        (Reaction(answer=LOST), 0, "done"),
    ],
)
def test_outcome_of_a_removal_decides_the_exit_code(run_quorum, reaction, code, outcome):
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[reaction])
    run = run_quorum(quorum, "remove-controller", *_remove(4), "-o", "json")
    assert (run.code, run.json["outcome"]) == (code, outcome)
    assert [step["state"] for step in run.json["steps"]] == [outcome]
    assert bool(run.json["may_happen"]) is (outcome == "unknown")


def test_addition_reads_the_node_s_own_files(run_quorum, candidate):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4"))
    run = run_quorum(quorum, "add-controller", "--command-config", candidate)
    assert run.code == 0, run.stdout + run.stderr
    words = f"controller 4 with directory id {directory('a')} and endpoints: CONTROLLER://c4:9093"
    assert run.stdout.startswith(f"Added {words}\n")
    assert quorum.sent == ["add 4"]
    again = run_quorum(quorum, "add-controller", "--command-config", candidate, "-o", "json")
    assert (again.code, again.json["outcome"]) == (0, "nothing-to-do")


def test_addition_needs_a_controller_that_was_formatted(run_quorum, candidate, tmp_path):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4"))
    assert run_quorum(quorum, "add-controller").code == 2
    (tmp_path / "data" / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=4\n")
    run = run_quorum(quorum, "add-controller", "--command-config", candidate, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "controller-not-formatted")
    other = f"version=1\ncluster.id=other\nnode.id=4\ndirectory.id={directory('a')}\n"
    (tmp_path / "data" / "meta.properties").write_text(other)
    run = run_quorum(quorum, "add-controller", "--command-config", candidate, "-o", "json")
    assert (run.code, run.error["id"], quorum.sent) == (3, "cluster-id-mismatch", [])


def test_broker_is_not_a_candidate(run_quorum, tmp_path):
    file = tmp_path / "broker.properties"
    file.write_text(
        "process.roles=broker\nnode.id=5\nlisteners=PLAINTEXT://:9092\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=c1:9093\nlog.dirs={tmp_path}\n"
    )
    quorum = SteppedQuorum(world=world("1 2 3"))
    run = run_quorum(quorum, "add-controller", "--command-config", str(file), "-o", "json")
    assert (run.code, run.error["id"]) == (2, "not-a-controller")


def test_reassignment_asks(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5"))
    refused = run_quorum(quorum, "reassign", "--target", "1,2,3,4,5", "-o", "json")
    assert (refused.code, quorum.sent) == (3, [])
    assert "confirmation-missing" in {finding["id"] for finding in refused.json["findings"]}
    assert "Plan: voters 1,2,3,4,5" in refused.stderr
    shown = run_quorum(quorum, "reassign", "--target", "1,2,3,4,5", "-o", "table")
    assert shown.stdout.startswith("Not confirmed: nothing was changed\n")
    assert "VOTERS AFTER" in shown.stderr and "VOTERS AFTER" not in shown.stdout
    done = run_quorum(quorum, "reassign", "--target", "1,2,3,4,5", "--yes", "-o", "json")
    assert (done.code, done.json["outcome"]) == (0, "done"), done.stderr
    assert [(step["action"], step["id"], step["state"]) for step in done.json["steps"]] == [
        ("wait", 4, "done"), ("add", 4, "done"), ("wait", 5, "done"), ("add", 5, "done"),
    ]  # fmt: skip
    assert done.json["voters_after"] == [1, 2, 3, 4, 5]
    assert run_quorum(quorum, "reassign", "--target", "5,4,3,2,1").code == 0


def test_reassignment_has_forecasts(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5"))
    zones = ("--zone", "1=a", "--zone", "2=a", "--zone", "3=b")
    run = run_quorum(quorum, "reassign", "--target", "1,2,3,4,5", "--dry-run", "-o", "json", *zones)
    assert (run.code, run.json["outcome"], quorum.sent) == (0, "planned", [])
    assert (run.json["forecast"][0]["worst_zone"], run.json["forecast"][0]["survives_worst_zone"]) == ("a", False)
    assert run_quorum(quorum, "reassign", "--target", "1", "--zone", "1", "--dry-run").code == 2


@pytest.mark.slow
def test_plan_is_simulated_where_it_is_asked_for(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4", leader=1))
    flags = ("--allow-size", "--accept-zero-tolerance", "--dry-run")
    run = run_quorum(quorum, "reassign", "--target", "2,3,4", *flags, "--simulate", "1", "--seed", "9", "-o", "json")
    found = run.json["simulation"]
    assert (run.code, found["runs"], found["seed"]) == (0, 1, 9)
    assert {row["release"] for row in found["elections"]} == {"4.3"}
    steps = [(step["number"], step["action"], step["id"]) for step in run.json["steps"] if step["action"] != "wait"]
    assert sorted({(row["step"], row["action"], row["id"]) for row in found["second_failures"]}) == steps
    assert all(row["goes_on"] == 1 for row in found["second_failures"])
    shown = run_quorum(quorum, "reassign", "--target", "2,3,4", *flags, "--simulate", "1")
    assert "simulated: 1 run each, from seed 0 on" in shown.stdout
    assert run_quorum(quorum, "reassign", "--target", "2,3,4", *flags, "-o", "json").json["simulation"] is None
    assert run_quorum(quorum, "reassign", "--target", "2,3,4", "--yes", "--simulate", "1").code == 2


@pytest.mark.parametrize(("words", "code", "id"), [("1,x", 2, "invalid-target"), ("", 3, "empty-target")])
def test_bad_target_is_refused(run_quorum, words, code, id):
    run = run_quorum(SteppedQuorum(world=world("1 2 3")), "reassign", "--target", words, "--yes", "-o", "json")
    errors = [run.error] if code == 2 else run.json["findings"]
    assert (run.code, id in {finding["id"] for finding in errors}) == (code, True)


def test_override_is_named_and_works(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3"))
    refused = run_quorum(quorum, "reassign", "--target", "1,2", "--yes", "-o", "json")
    (size,) = [finding for finding in refused.json["findings"] if finding["id"] == "even-voter-count"]
    assert (refused.code, "--allow-size" in size["next_step"]) == (3, True)
    flags = ("--allow-size", "--accept-zero-tolerance")
    assert run_quorum(quorum, "reassign", "--target", "1,2", "--yes", *flags).code == 0


def test_conversion_requires_the_cluster_id(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3", static=True))
    for words in ((), ("--yes",), ("--confirm", "other")):
        run = run_quorum(quorum, "convert", "-o", "json", *words)
        assert (run.code, run.json["outcome"], quorum.sent) == (3, "refused", [])
    run = run_quorum(quorum, "convert", "--confirm", CLUSTER_ID, "-o", "json")
    assert (run.code, run.json["outcome"], quorum.sent) == (0, "done", ["upgrade"])


def test_timeout_before_any_request_reports_that_none_was_sent(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3 4"))

    def observe(*_, **__):
        raise UnknownOutcomeError("not finished after 60 s, the limit set by --timeout", id="timed-out")

    quorum.observe = observe
    run = run_quorum(quorum, "remove-controller", *_remove(4), "-o", "json")
    assert (run.code, run.error["id"], quorum.sent) == (6, "timed-out", [])
    assert run.error["next_step"].startswith("No request was sent by this run, which changed no voter.")


@pytest.mark.parametrize(
    ("at", "known"),
    [
        ("answered", "done: nothing; not known of: remove 4"),
        ("look", "done: nothing; not known of: remove 4"),
        ("settle", "done: remove 4; no request is open; the quorum was not yet well after remove 4"),
    ],
)
def test_timeout_after_a_request_reports_progress_and_how_to_resume(run_quorum, at, known):
    quorum = SteppedQuorum(world=world("1 2 3 4"))

    def stop(_, name):
        if quorum.sent and name == ("observe" if at == "settle" else at):
            raise UnknownOutcomeError("not finished after 60 s, the limit set by --timeout", id="timed-out")

    quorum.at_action = stop
    run = run_quorum(quorum, "remove-controller", *_remove(4), "-o", "json")
    (finding,) = [finding for finding in run.json["findings"] if finding["id"] == "timed-out"]
    assert (run.code, run.json["outcome"], quorum.sent) == (6, "unknown", ["remove 4"])
    assert finding["message"] == f"not finished after 60 s, the limit set by --timeout; {known}"
    assert finding["next_step"].startswith("Run the same command again, with a longer --timeout:")
    quorum.at_action = lambda *_: None
    assert run_quorum(quorum, "remove-controller", *_remove(4), "-o", "json").code == 0


def test_another_cluster_is_noticed_where_controllers_do_not_report_theirs(run_quorum, candidate, tmp_path):
    # As if only the new controller was named, which follows no leader: its disk is the reason.
    other = f"version=1\ncluster.id=other\nnode.id=4\ndirectory.id={directory('a')}\n"
    (tmp_path / "data" / "meta.properties").write_text(other)
    quorum = SteppedQuorum(world=world("1 2 3"), knows_cluster_id=False)
    run = run_quorum(quorum, "add-controller", "--command-config", candidate, "-o", "json")
    assert (run.code, run.error["id"], quorum.sent) == (3, "cluster-id-mismatch", [])


def test_ctrl_c_reports_the_request_that_was_under_way(run_quorum, tmp_path):
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[Reaction(answer=LOST)])

    def stop(_, name):
        if name == "look" and quorum.sent:
            raise KeyboardInterrupt

    quorum.at_action = stop
    run = run_quorum(quorum, "remove-controller", *_remove(4), "-o", "json")
    quorum.at_action = lambda *_: None
    assert (run.code, run.json["outcome"], run.json["interrupted"]) == (130, "unknown", True)
    dry = run_quorum(quorum, "remove-controller", *_remove(3), "--dry-run", "-o", "json")
    assert "earlier-request-open" in {finding["id"] for finding in dry.json["findings"]}
    journal = [json.loads(line)["entry"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert journal == ["journal", "begin", "intent", "answer"]


def test_refusal_is_explained_for_old_controllers_that_do_not_report_their_cluster(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3", static=True), knows_cluster_id=False)
    refused = run_quorum(quorum, "remove-controller", *_remove(3), "-o", "json")
    assert (refused.code, "quorum-is-static" in {finding["id"] for finding in refused.json["findings"]}) == (3, True)
    unknown = run_quorum(quorum, "convert", "--confirm", CLUSTER_ID, "-o", "json")
    assert (unknown.code, unknown.error["id"], quorum.sent) == (4, "request-not-supported", [])


def test_second_change_at_once_is_refused(run_quorum, tmp_path):
    from kafkactl.files.journal import open_journal

    quorum = SteppedQuorum(world=world("1 2 3 4"))
    with open_journal(str(tmp_path / "journal.jsonl"), subject="quorum", cluster_id=CLUSTER_ID):
        run = run_quorum(quorum, "remove-controller", *_remove(4), "-o", "json")
    assert (run.code, run.error["id"], quorum.sent) == (3, "another-kafkactl-is-changing", [])


DENIAL = blocker("not-authorised", "cluster", "User:ops may not change the cluster", "kafka-acls.sh …")
DENIED = Answer(code=31, message="Cluster authorization failed.", next_step="kafka-acls.sh … --operation Alter …")
TO_TWO = ("reassign", "--target", "1,2", "--allow-size", "--accept-zero-tolerance", "--yes")


class UnprovenQuorum(SteppedQuorum):
    """A quorum whose leader alone is asked for an outcome: that answer shows no voter to be alive, as Kafka's does."""

    def observe_nodes(self):
        state = super().observe_nodes()
        voters = tuple(replace(voter, alive=True if voter.id == state.leader_id else None) for voter in state.voters)
        return replace(state, voters=voters)


@pytest.mark.parametrize("more", [("--dry-run",), ()])
def test_change_without_the_right_is_refused_before_anything_is_sent(run_quorum, more):
    quorum = SteppedQuorum(world=world("1 2 3"), denial=DENIAL)
    run = run_quorum(quorum, *TO_TWO, *more, "-o", "json")
    assert (run.code, run.json["outcome"], quorum.sent) == (4, "refused", [])
    assert [found["id"] for found in run.json["findings"] if found["severity"] == "blocker"] == ["not-authorised"]
    assert {step["state"] for step in run.json["steps"]} == {"pending"}
    assert "Refused: " in run_quorum(quorum, *TO_TWO, *more).stdout


def test_change_without_the_right_is_refused_with_every_other_blocker(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3", dead="3"), denial=DENIAL)
    run = run_quorum(quorum, "remove-controller", *_remove(2), "--dry-run", "-o", "json")
    assert run.code == 3, "another blocker is no question of access"
    assert {"not-authorised", "quorum-would-wedge"} <= {found["id"] for found in run.json["findings"]}


def test_change_that_is_done_needs_no_right(run_quorum):
    quorum = SteppedQuorum(world=world("1 2 3"), denial=DENIAL)
    run = run_quorum(quorum, "reassign", "--target", "1,2,3", "--yes", "-o", "json")
    assert (run.code, run.json["outcome"]) == (0, "nothing-to-do")


def test_denied_request_leaves_the_voters_unknown(run_quorum):
    quorum = UnprovenQuorum(world=world("1 2 3"), reactions=[Reaction(taken=False, answer=DENIED)])
    run = run_quorum(quorum, *TO_TWO, "-o", "json")
    assert (run.code, run.json["outcome"]) == (4, "failed"), "nothing was changed"
    (finding,) = [found for found in run.json["findings"] if found["severity"] == "blocker"]
    assert (finding["id"], finding["next_step"]) == ("not-authorised", DENIED.next_step)
    (now,) = [found for found in run.json["forecast"] if found["number"] == 0]
    assert (now["voters"], now["alive"], now["tolerates"]) == ([1, 2, 3], [1, 2, 3], 1)
    assert [step["state"] for step in run.json["steps"]] == ["failed"]


def test_request_that_is_denied_between_steps_leaves_the_change_partly_done(run_quorum):
    reactions = [Reaction(), Reaction(taken=False, answer=DENIED)]
    quorum = UnprovenQuorum(world=world("1 2 3", observers="4"), reactions=reactions)
    run = run_quorum(quorum, "reassign", "--target", "1,2,4", *TO_TWO[3:], "-o", "json")
    assert (run.code, run.json["outcome"]) == (5, "partial")
    (now,) = [found for found in run.json["forecast"] if found["number"] == 0]
    assert now["alive"] == [1, 2, 3, 4], "each voter that runs is shown as alive"
    assert "must come back" not in run.stdout


def test_voters_that_were_not_observed_after_a_failure_are_unknown(run_quorum):
    quorum = UnprovenQuorum(world=world("1 2 3"), reactions=[Reaction(taken=False, answer=DENIED)])

    def unreachable(number, name):
        if name in ("observe", "glance") and quorum.sent:
            raise UnreachableError("out of reach", id="connection-refused")

    quorum.at_action = unreachable
    run = run_quorum(quorum, *TO_TWO)
    assert run.code == 4
    assert "Now: which voters are alive was not observed" in run.stdout
    assert "no majority" not in run.stdout
