"""Changes between two statuses: verdicts with their sentence, numbers by name."""

from __future__ import annotations

from kafkactl.status.changes import status_changes
from tests.status.worlds import NO_RIGHT, partitions, quorum, status, voter


def test_equal_statuses_have_no_change():
    assert status_changes(status(), status()) == ()


def test_new_verdict_is_reported_with_the_sentence_of_the_area():
    later = status(quorum=quorum(voter(1), voter(2), voter(3, alive=False)))
    assert status_changes(status(), later) == (
        "quorum ok → watch: 1 of 3 controllers is down: the quorum survives no other failure",
    )
    assert status_changes(later, status()) == ("quorum watch → ok: 1 leads · 1,2,3 vote · survives 1",)


def test_numbers_that_change_within_a_verdict_are_named():
    later = status(quorum=quorum(leader_id=2))
    assert status_changes(status(), later) == ("quorum: leader id 1 → 2",)
    before, after = (status(partitions=partitions(out_of_sync=count)) for count in (3, 5))
    assert status_changes(before, after) == ("partitions: out of sync 3 → 5",)


def test_number_that_is_no_longer_known_is_named():
    (line,) = status_changes(status(), status(partitions=NO_RIGHT))[:1]
    assert line.startswith("brokers: unregistered 0 → not known")


def test_new_area_is_not_a_change():
    assert status_changes(status(), status(settings=NO_RIGHT)) == ()
