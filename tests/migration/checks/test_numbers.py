"""Each finding has a number of its own, and accepting one accepts nothing else."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Severity, warning
from kafkactl.migration.checks.data import NUMBERS
from kafkactl.migration.checks.numbers import (
    UNKNOWN_ID,
    accept_word,
    check_of,
    ids_of,
    is_accepted,
    meanings,
    number_of_finding,
    number_of_question,
)
from kafkactl.migration.checks.registry import ROWS, check, open_questions
from kafkactl.migration.observed.observation import ServerSeen
from kafkactl.protocol.schema.explanations import explanations
from tests.migration.checks.cases import CASES
from tests.migration.observations import world

AT_M0 = ("C-30", "C-40", "C-41", "C-42")
UNREADABLE = warning(
    "observed-log-unreadable", "metadata log of controller 3001", "it cannot be read", reason="no-metadata-log"
)


def with_findings(*findings):
    from kafkactl.core.frozen import changed

    return changed(world("M0").observation(), findings=findings)


def test_accepting_the_ensemble_leaves_an_unread_disk_open():
    open_ = open_questions(check(with_findings(UNREADABLE), accepted=frozenset(AT_M0)))
    assert [(finding.id, finding.evidence["check"], finding.evidence["number"]) for finding in open_] == [
        ("observed-log-unreadable", "X-SEEN", "X-SEENc")
    ]
    assert open_questions(check(with_findings(UNREADABLE), accepted=frozenset({*AT_M0, "X-SEENc"}))) == []


@pytest.mark.parametrize("id", ["node-place-unreadable", "node-not-observed", "some-other-observers-word"])
def test_no_number_of_a_check_accepts_what_was_not_seen(id):
    found = check(with_findings(warning(id, "controller 3001", "not seen")), accepted=frozenset(
        number for number, said in meanings().items() if id not in said
    ))  # fmt: skip
    assert [finding.id for finding in open_questions(found)] == [id]


def test_accepting_a_question_leaves_the_findings_of_its_check_open():
    servers = tuple(ServerSeen(address=f"zk{at}", mode=mode, version=None) for at, mode in enumerate(("leader", None)))
    found = check(world("M0").but(servers=servers).observation(), accepted=frozenset(AT_M0))
    assert {finding.id for finding in open_questions(found)} == {"zookeeper-server-silent"}


@pytest.mark.slow
def test_accepting_one_finding_accepts_no_other_of_all_there_are():
    """Every pair of warnings that the known dangers lead to."""
    found = {}
    for case in CASES:
        for finding in check(case.change(world(case.state)).observation()):
            if finding.severity is Severity.WARNING:
                found.setdefault((finding.id, finding.evidence.get("number")), finding)
    assert len(found) > 40
    for key, finding in found.items():
        accepted = frozenset({accept_word(finding)})
        assert is_accepted(finding, accepted)
        assert [other for other in found if other != key and is_accepted(found[other], accepted)] == []


def test_a_finding_is_accepted_on_one_node_or_on_all():
    down = [warning("controller-down", f"controller {id}", "down", check="C-31") for id in (3001, 3002)]
    assert [is_accepted(finding, frozenset({"controller-down@controller-3001"})) for finding in down] == [True, False]
    assert [is_accepted(finding, frozenset({"C-31f@controller-3002"})) for finding in down] == [False, True]
    assert [is_accepted(finding, frozenset({"controller-down"})) for finding in down] == [True, True]
    assert accept_word(down[0]) == "controller-down@controller-3001"


def test_a_question_has_no_name_but_its_number():
    found = check(world("M0").observation(), accepted=frozenset({UNKNOWN_ID}))
    assert {finding.evidence["number"] for finding in open_questions(found)} == set(AT_M0)


def test_every_question_and_every_finding_of_a_check_has_a_number():
    assert len({number_of_question(row.title) for row in ROWS}) == len(ROWS)
    assert all(check_of(number_of_question(row.title)) == row.check for row in ROWS)
    for id, number in NUMBERS.items():
        assert check_of(number_of_finding(id, number)) == number, id
    for case in CASES:
        if case.id != UNKNOWN_ID and case.check != "X-STATE":
            assert case.id in ids_of(case.check), case


def test_what_the_numbers_stand_for_is_explained():
    said = [text for texts in meanings().values() for text in texts]
    assert {text for text in said if not text.startswith("? ")} <= set(explanations())
    assert {text[2:] for text in said if text.startswith("? ")} == {row.title for row in ROWS}


def test_the_ids_of_a_number():
    assert ids_of("C-13d") == ("inter-broker-listener-differs",)
    assert {"inter-broker-listener-differs", "controller-without-flag", UNKNOWN_ID} <= set(ids_of("C-13"))
    assert ids_of("C-99") == ()


def test_an_id_of_an_earlier_version_accepts_the_finding_under_its_present_name():
    finding = warning("broker-state-inconsistent", "broker 3", "the four sources disagree")
    assert is_accepted(finding, frozenset({"witnesses-disagree"}))
    assert is_accepted(finding, frozenset({"witnesses-disagree@broker-3"}))
    assert not is_accepted(finding, frozenset({"gate-stays-closed"}))
