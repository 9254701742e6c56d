"""`quorum reassign --out` and `quorum apply`: the voters that were reviewed come and go, or none does."""

from __future__ import annotations

import contextlib
import json
import stat

import pytest

from kafkactl.change.plan_document import checksum
from kafkactl.commands.quorum import change_run as quorum_change_run
from tests.quorum.scripted_port import SteppedQuorum
from tests.quorum.worlds import CLUSTER_ID, directory, world

HOSTILE_LINES = {"quorum apply": ("{config} {controllers}", "{text} {controllers}")}

HOSTILE_PATHS = {
    "quorum apply": [
        ("plan_file", "{} {connect}"),
    ],
}

SERVERS = ("--bootstrap-controller", "c1:9093")


@pytest.fixture
def run_quorum(monkeypatch, tmp_path, kafkactl):
    """Return `run_quorum(quorum, "apply", …)`: run a command on a simulated quorum, with a journal of this test."""

    def run(quorum, verb, *words):
        @contextlib.contextmanager
        def opened(*_, **__):
            yield quorum

        monkeypatch.setattr("kafkactl.quorum.io.live_quorum.LiveQuorum", opened)
        monkeypatch.setattr(quorum_change_run, "open_client", opened)
        monkeypatch.setattr("kafkactl.files.clock.SystemClock", lambda: quorum.clock)
        journal = ("--journal", str(tmp_path / "journal.jsonl"))
        return kafkactl("quorum", verb, *SERVERS, *journal, "-o", "json", *words)

    return run


@pytest.fixture
def file(tmp_path):
    return tmp_path / "plan.json"


def edited(file, change, *, seal=True):
    document = json.loads(file.read_text())
    change(document)
    if seal:
        document["plan_sha256"] = checksum(document)
    file.write_text(json.dumps(document))


def test_reviewed_plan_is_applied_once(run_quorum, file):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5 6"))
    planned = run_quorum(quorum, "reassign", "--target", "4,5,6", "--out", str(file))
    assert (planned.code, planned.json["outcome"], planned.json["out"]) == (0, "planned", str(file))
    assert (stat.S_IMODE(file.stat().st_mode), quorum.sent) == (0o600, [])
    document = json.loads(file.read_text())
    assert (document["kind"], document["cluster_id"]) == ("quorum.plan", CLUSTER_ID)
    dry = run_quorum(quorum, "apply", str(file), "--dry-run")
    assert (dry.json["outcome"], dry.json["steps"], quorum.sent) == ("planned", planned.json["steps"], [])
    done = run_quorum(quorum, "apply", str(file), "--yes")
    assert (done.code, done.json["outcome"], done.json["voters_after"]) == (0, "done", [4, 5, 6]), done.stdout
    assert done.json["plan_sha256"] == planned.json["plan_sha256"]
    sent = list(quorum.sent)
    again = run_quorum(quorum, "apply", str(file), "--yes")
    assert (again.code, again.json["outcome"], quorum.sent) == (0, "nothing-to-do", sent)


def test_without_a_terminal_it_takes_a_yes(run_quorum, file):
    quorum = SteppedQuorum(world=world("1 2 3 4"))
    assert run_quorum(quorum, "reassign", "--target", "1,2,3", "--out", str(file)).code == 0
    run = run_quorum(quorum, "apply", str(file))
    assert (run.code, run.json["findings"][-1]["id"], quorum.sent) == (3, "confirmation-missing", [])


def test_refused_plan_writes_no_file_and_none_is_overwritten(run_quorum, file):
    quorum = SteppedQuorum(world=world("1 2 3", dead="3", observers="4"))
    refused = run_quorum(quorum, "reassign", "--target", "1,3", "--out", str(file))
    assert (refused.code, refused.json["out"], file.exists()) == (3, None, False)
    file.write_text("mine")
    assert run_quorum(quorum, "reassign", "--target", "1,2,4", "--out", str(file)).error["id"] == "plan-file-exists"


@pytest.mark.parametrize(
    ("now", "what"),
    [
        ("1 2 3 7", "voters"),  # another operator added a voter
        ("1 2 3b", "voters"),  # the disk of a voter was replaced
        ("1 2", "voters"),  # a voter that stays was removed
    ],
)
def test_plan_is_refused_after_voters_changed(run_quorum, file, now, what):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5"))
    run_quorum(quorum, "reassign", "--target", "3,4,5", "--out", str(file), "--allow-size")
    quorum.world = world(now, observers="4 5") if now != "1 2" else world(now, observers="4 5 3")
    for words in (("--dry-run",), ("--yes",)):
        run = run_quorum(quorum, "apply", str(file), *words)
        assert (run.code, run.json["outcome"], quorum.sent) == (3, "refused", [])
        (finding,) = [item for item in run.json["findings"] if item["id"] == "cluster-changed-since-plan"]
        assert [item["what"] for item in finding["evidence"]["changed"]] == [what]


def test_another_leader_makes_another_order(run_quorum, file):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5 6", leader=1))
    run_quorum(quorum, "reassign", "--target", "4,5,6", "--out", str(file))
    quorum.world = world("1 2 3", observers="4 5 6", leader=2)
    run = run_quorum(quorum, "apply", str(file), "--yes")
    (finding,) = [item for item in run.json["findings"] if item["id"] == "cluster-changed-since-plan"]
    assert (run.code, quorum.sent, [item["what"] for item in finding["evidence"]["changed"]]) == (3, [], ["steps"])


def test_partly_applied_plan_is_resumed(run_quorum, file):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4"))
    run_quorum(quorum, "reassign", "--target", "1,2,4", "--out", str(file))
    quorum.world = world("1 2 3 4")
    run = run_quorum(quorum, "apply", str(file), "--yes")
    assert (run.code, run.json["outcome"], quorum.sent) == (0, "done", ["remove 3"]), run.stdout


def _sealed_for_another(document):
    document["cluster_id"] = "AAAAAAAAAAAAAAAAAAAAAA"


def test_plan_of_another_cluster_is_refused(run_quorum, file):
    quorum = SteppedQuorum(world=world("1 2 3 4"))
    run_quorum(quorum, "reassign", "--target", "1,2,3", "--out", str(file))
    edited(file, _sealed_for_another)
    run = run_quorum(quorum, "apply", str(file), "--yes")
    assert (run.code, run.json["findings"][0]["id"], quorum.sent) == (3, "cluster-id-mismatch", [])


def _other_step(document):
    document["steps"][0] |= {"id": 2, "directory_id": str(directory("a"))}


@pytest.mark.parametrize(
    ("change", "seal", "id", "code"),
    [
        (_other_step, False, "plan-file-edited", 3),
        (_other_step, True, "plan-forged", 3),
        (lambda document: document["steps"][0].update(voters_after=[1, 2]), True, "plan-forged", 3),
        (lambda document: document["steps"][0].update(action="add"), True, "plan-forged", 3),
        (lambda document: document.update(schema_version=2), True, "not-a-plan-file", 2),
        (lambda document: document.update(kind="storage.plan"), True, "not-a-plan-file", 2),
        (lambda document: document.update(overrides=["--yes"]), True, "not-a-plan-file", 2),
        (lambda document: document["steps"][0].update(action="upgrade"), True, "not-a-plan-file", 2),
        (lambda document: document["steps"][0].update(id=-1), True, "not-a-plan-file", 2),
        (lambda document: document["steps"][0].update(directory_id="?"), True, "not-a-plan-file", 2),
        (lambda document: document.update(steps=[]), True, "not-a-plan-file", 2),
        (lambda document: document["voters"].append(document["voters"][0]), True, "not-a-plan-file", 2),
    ],
)
def test_edited_or_forged_plan_is_refused(run_quorum, file, change, seal, id, code):
    quorum = SteppedQuorum(world=world("1 2 3 4"))
    run_quorum(quorum, "reassign", "--target", "1,2,3", "--out", str(file))
    edited(file, change, seal=seal)
    run = run_quorum(quorum, "apply", str(file), "--yes")
    assert (run.code, run.error["id"], quorum.sent) == (code, id, [])


def test_truncated_plan_is_refused(run_quorum, file):
    quorum = SteppedQuorum(world=world("1 2 3 4"))
    run_quorum(quorum, "reassign", "--target", "1,2,3", "--out", str(file))
    whole = file.read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 3):
        file.write_bytes(whole[:size])
        run = run_quorum(quorum, "apply", str(file), "--yes")
        assert (run.code, run.error["id"]) == (2, "not-a-plan-file")
