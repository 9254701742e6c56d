"""Ids of findings and questions: one for each, and accepting an id accepts no other."""

from __future__ import annotations

import pytest

from kafkactl.core.explanations import explanations
from kafkactl.core.findings import Severity, warning
from kafkactl.migration.checks.ids import (
    UNKNOWN_ID,
    accept_word,
    check_of,
    id_of_number,
    ids_by_check,
    is_accepted,
    present_word,
)
from kafkactl.migration.checks.registry import ROWS, check, open_questions
from kafkactl.migration.observed.observation import ServerSeen
from tests.migration.checks.cases import CASES
from tests.migration.observations import OPEN_AT_M0, world

AT_M0 = frozenset(OPEN_AT_M0) - {"disk-topic-ids-unknown"}
UNREADABLE = warning(
    "observed-log-unreadable", "metadata log of controller 3001", "it cannot be read", reason="no-metadata-log"
)


def with_findings(*findings):
    from kafkactl.core.frozen import changed

    return changed(world("M0").observation(), findings=findings)


def test_accepting_the_ensemble_leaves_an_unread_disk_open():
    open_ = open_questions(check(with_findings(UNREADABLE), accepted=AT_M0))
    assert [(finding.id, finding.evidence["check"]) for finding in open_] == [("observed-log-unreadable", "X-SEEN")]
    assert open_questions(check(with_findings(UNREADABLE), accepted=AT_M0 | {"observed-log-unreadable"})) == []


@pytest.mark.parametrize("id", ["node-place-unreadable", "node-not-observed", "some-other-observers-word"])
def test_no_id_of_a_check_accepts_what_was_not_seen(id):
    others = frozenset(other for ids in ids_by_check().values() for other in ids if other != id)
    found = check(with_findings(warning(id, "controller 3001", "not seen")), accepted=others)
    assert [finding.id for finding in open_questions(found)] == [id]


def test_accepting_a_question_leaves_the_findings_of_its_check_open():
    servers = tuple(ServerSeen(address=f"zk{at}", mode=mode, version=None) for at, mode in enumerate(("leader", None)))
    found = check(world("M0").but(servers=servers).observation(), accepted=AT_M0)
    assert {finding.id for finding in open_questions(found)} == {"zookeeper-server-silent"}


@pytest.mark.slow
def test_accepting_one_finding_accepts_no_other_of_all_there_are():
    # Every pair of warnings that the known dangers lead to.
    found = {}
    for case in CASES:
        for finding in check(case.change(world(case.state)).observation()):
            if finding.severity is Severity.WARNING:
                found.setdefault((finding.id, finding.evidence.get("question")), finding)
    assert len(found) > 40
    for key, finding in found.items():
        accepted = frozenset({accept_word(finding)})
        assert is_accepted(finding, accepted)
        assert [other for other in found if other != key and is_accepted(found[other], accepted)] == []


def test_finding_is_accepted_on_one_node_or_on_all():
    down = [warning("controller-down", f"controller {id}", "down", check="C-31") for id in (3001, 3002)]
    assert [is_accepted(finding, frozenset({"controller-down@controller-3001"})) for finding in down] == [True, False]
    assert [is_accepted(finding, frozenset({"C-31f@controller-3002"})) for finding in down] == [False, True]
    assert [is_accepted(finding, frozenset({"controller-down"})) for finding in down] == [True, True]
    assert accept_word(down[0]) == "controller-down@controller-3001"


def test_question_has_no_name_but_its_id():
    found = check(world("M0").observation(), accepted=frozenset({UNKNOWN_ID}))
    assert {finding.evidence["question"] for finding in open_questions(found)} == AT_M0


def test_every_question_and_every_finding_of_a_check_is_listed_under_it():
    assert len({row.question for row in ROWS}) == len(ROWS)
    ids = {(row.check, row.question) for row in ROWS}
    ids |= {(case.check, case.id) for case in CASES if case.id != UNKNOWN_ID and case.check != "X-STATE"}
    missing = [(check, id) for check, id in sorted(ids) if id not in ids_by_check().get(check, ())]
    assert missing == [], "append the id to the line of its check in schemas/migration_checks.toml"


def test_every_listed_id_is_explained_or_a_question():
    questions = {row.question for row in ROWS}
    listed = {id for ids in ids_by_check().values() for id in ids}
    assert listed - set(explanations()) < questions <= listed
    assert {row.question for row in ROWS if row.question in explanations()} == {
        *OPEN_AT_M0, "cluster-id-unknown", "stray-check-unavailable"
    }  # fmt: skip


def test_id_of_a_finding_leads_to_its_check():
    assert check_of("zookeeper-authorizer-on-kraft", "C-19") == "C-19"
    assert check_of("broken-topic-znode", "C-50") == "C-37"
    assert check_of("some-other-observers-word", "X-SEEN") == "X-SEEN"


# Of each length of a list the last number that earlier builds gave: an id that is not appended changes their meaning.
EARLIER = {
    "C-01": "cluster-id-unknown", "C-01i": "broker-without-cluster-id", "C-02i": "zookeeper-connect-servers-unknown",
    "C-03": "release-with-migration-bugs", "C-03d": "release-loses-data-in-migration",
    "C-04d": "message-format-version-set", "C-07f": "controller-not-a-voter", "C-13d": "inter-broker-listener-differs",
    "C-13n": "planned-files-unknown",
    "C-14l": "principal-rules-unknown", "C-16d": "copied-passwords-unknown", "C-18c": "topic-sizes-unknown",
    "C-19i": "zookeeper-names-unknown", "C-22b": "config-edited-by-hand", "C-30b": "zookeeper-server-silent",
    "C-31o": "quorum-question-denied", "C-32c": "broker-not-in-zookeeper", "C-33c": "partitions-with-one-replica",
    "C-37f": "topic-ids-unknown", "C-38f": "controller-epoch-behind-states", "C-39d": "pending-znodes-unknown",
    "C-41": "automation-unknown", "C-51f": "topic-config-values-unknown", "C-55d": "acl-with-unknown-word",
    "C-58g": "migration-offset-unknown", "C-59f": "controller-znode-unknown", "C-61e": "settings-shown-differently",
    "C-64d": "kraft-addresses-unknown", "X-2.1i": "kraft-broker-on-zookeeper", "X-3g": "mirrored-data-unknown",
    "X-3-D2d": "mirrored-topics-unknown", "X-4e": "late-flag-unknown", "X-5.2": "stray-check-unavailable",
    "X-5.2a": "partitions-became-strays", "X-SEENa": "node-not-observed", "X-SEENp": "node-refuses-client",
}  # fmt: skip


@pytest.mark.parametrize(("number", "id"), EARLIER.items())
def test_number_of_an_earlier_build_leads_to_its_id(number, id):
    assert id_of_number(number) == id
    assert present_word(f"{number}@broker-3") == f"{id}@broker-3"


@pytest.mark.parametrize("text", ["C-99", "X-SEEN", "X-STATE", "c-13", "C-13z", "automation-unknown", ""])
def test_other_text_is_not_a_number_of_an_earlier_build(text):
    assert id_of_number(text) is None
