"""`kafkactl migrate check` on saved observations: what is shown, what is answered, what the exit code says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkactl.migration.zktree.znode import encode_znodes
from tests.migration.observations import OPEN_AT_M0, TIME_MS, World, migration, world

HOSTILE_LINES = {"migrate check": ("{saved}", "--bundle {bundle}", "{saved} --accept {text}")}


def saved(place: Path, seen: World) -> Path:
    """Return an observation as another program may write it: no logs, no responses of nodes."""
    observation = seen.observation()
    nodes = [
        {
            "id": node.id,
            "role": node.role.value,
            "alive": node.alive,
            "kafka_version": node.kafka_version,
            "mode": None if node.mode is None else node.mode.value,
            "config": node.config_text,
            "meta_properties": node.meta_properties and dict(node.meta_properties),
            "api_versions": None,
            "describe_quorum": None,
            "metrics": None,
        }
        for node in observation.nodes
    ]
    document = {"kind": "migrate.observation", "schema_version": 1, "time_ms": TIME_MS, "nodes": nodes,
            "zookeeper": {"connect": observation.connect, "chroot": observation.chroot}}  # fmt: skip
    place.mkdir()
    (place / "observation.json").write_text(json.dumps(document))
    if observation.tree is not None:
        (place / "zk.jsonl.gz").write_bytes(encode_znodes(observation.tree.znodes.values()))
    return place


@pytest.fixture
def check(kafkactl, tmp_path):
    def run(seen: World, *words: str):
        return kafkactl("migrate", "check", "--observation", saved(tmp_path / "seen", seen), *words)

    return run


def test_healthy_cluster_ends_with_zero_and_open_questions(check):
    run = check(world("M0"), "-o", "json")
    assert run.code == 0
    assert run.json["kind"] == "migrate.check"
    assert (run.json["state"], run.json["passes"], run.json["open"]) == ("M0", False, sorted(OPEN_AT_M0))
    assert run.json["counts"] == {"blocker": 0, "warning": 0, "unknown": 5, "info": 0}


def test_all_accepted_passes(check):
    run = check(world("M0"), "-o", "json", *(f"--accept={id}" for id in OPEN_AT_M0))
    assert (run.code, run.json["passes"], run.json["open"]) == (0, True, [])
    assert run.json["accepted"] == sorted(OPEN_AT_M0)


def test_blockers_are_all_reported_with_exit_code_7(check):
    seen = world("M0").znode("/migration", migration(133)).file(2, "inter.broker.protocol.version", "3.7")
    run = check(seen, "-o", "json")
    assert run.code == 7
    found = {finding["id"]: finding for finding in run.json["findings"] if finding["severity"] == "blocker"}
    assert {"stale-migration-znode", "inter-broker-protocol-differs"} <= set(found)
    assert found["stale-migration-znode"]["evidence"]["check"] == "C-58"


def test_blocker_is_not_accepted(check):
    run = check(world("M0").znode("/migration", migration(133)), "--accept", "stale-migration-znode", "-o", "json")
    assert run.code == 7


def test_people_read_what_stops_first_and_what_to_do(check):
    text = check(world("M0").znode("/migration", migration(133))).stdout
    assert text.index("Blockers: correct these first") < text.index("stale-migration-znode  C-58  /migration")
    assert text.index("stale-migration-znode") < text.index("Unknown: not in the observation")
    assert " ".join(f"--accept {id}" for id in OPEN_AT_M0) in " ".join(text.split())
    assert "Correct the blockers, then run `kafkactl migrate check` again." in text


def test_unread_evidence_stays_open_when_all_questions_are_accepted(kafkactl, tmp_path):
    place = saved(tmp_path / "seen", world("M0"))
    (place / "metadata" / "3001").mkdir(parents=True)
    words = [f"--accept={id}" for id in OPEN_AT_M0]
    run = kafkactl("migrate", "check", "--observation", place, "-o", "json", *words)
    unread = "observed-log-unreadable@metadata-log-of-controller-3001"
    assert (run.json["passes"], run.json["open"]) == (False, [unread])
    run = kafkactl("migrate", "check", "--observation", place, "-o", "json", *words, "--accept", unread)
    assert (run.json["passes"], run.json["open"]) == (True, [])


@pytest.mark.parametrize("word", ["X-SEEN", "check-unknown"])
def test_word_for_several_findings_is_refused(check, word):
    run = check(world("M0"), "--accept", word)
    assert run.code == 2
    assert "several findings" in " ".join(run.stderr.split())


@pytest.mark.parametrize("command", ["check", "run", "finalize"])
def test_no_help_recommends_to_accept_something(kafkactl, command):
    run = kafkactl("migrate", command, "--help")
    assert run.code == 0
    assert "--accept C-" not in run.stdout


def test_misspelt_id_is_refused(check):
    run = check(world("M0"), "--accept", "automation-unknwn")
    assert run.code == 2
    assert "automation-unknown" in run.stderr


def test_number_of_earlier_build_is_accepted_with_a_note_that_names_the_id(check):
    numbers = ("C-30", "C-40", "C-41", "C-42", "C-43")
    run = check(world("M0"), "-o", "json", *(f"--accept={number}" for number in numbers))
    assert (run.code, run.json["passes"], run.json["accepted"]) == (0, True, sorted(OPEN_AT_M0))
    assert [line for line in run.stderr.splitlines() if "earlier version" in line] == [
        f"--accept {number} is a number of an earlier version: use --accept {id}"
        for number, id in zip(numbers, OPEN_AT_M0, strict=True)
    ]


def test_shown_ids_of_questions_are_explained_and_accepted(kafkactl, tmp_path):
    place = saved(tmp_path / "seen", world("M0"))
    shown = kafkactl("migrate", "check", "--observation", place).stdout
    for id in OPEN_AT_M0:
        assert shown.count(id) == 2
        explained = kafkactl("explain", id, "-o", "json")
        assert (explained.code, explained.json["id"]) == (0, id)
        answer = kafkactl("migrate", "check", "--observation", place, "-o", "json", "--accept", id).json
        assert set(answer["open"]) == {*OPEN_AT_M0} - {id}


def test_nothing_but_a_tree_is_enough(kafkactl, tmp_path):
    place = saved(tmp_path / "seen", world("M0"))
    (place / "observation.json").unlink()
    run = kafkactl("migrate", "check", "--observation", place, "-o", "json")
    assert run.code == 0
    assert "C-04" not in {
        finding["evidence"]["check"] for finding in run.json["findings"] if finding["severity"] == "blocker"
    }


def test_check_without_a_source_is_wrong_usage(kafkactl):
    assert kafkactl("migrate", "check").code == 2


@pytest.mark.parametrize("state", ["M0", "M6"])
@pytest.mark.parametrize("verb", ["check", "status", "plan", "compare"])
def test_without_zookeeper_no_answer_is_a_success(kafkactl, tmp_path, verb: str, state: str):
    # A script that goes on behind `&&` must not pass.
    folder = saved(tmp_path / "seen", world(state).but(has_tree=False))
    run = kafkactl("migrate", verb, "--observation", folder, "-o", "json")
    assert run.code != 0
    if verb == "check":
        assert run.json["passes"] is False
        assert run.code == 7 or (run.code, run.json["too_little_seen"]) == (6, True)
