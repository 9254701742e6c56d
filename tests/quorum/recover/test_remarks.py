"""Advice about the old voters: their disks are wiped, but for the data of those that are brokers."""

from __future__ import annotations

from types import SimpleNamespace as Some

import pytest

from kafkactl.quorum.recover.remarks import _afterwards, remarks

VOTERS = tuple(Some(id=id, directory_id=None, endpoints=(), state="lost") for id in (1, 2, 3))


@pytest.mark.parametrize(
    ("brokers", "kept"),
    [((11, 12), None), ((2, 11), "partition folders of 2,"), ((2, 3), "partition folders of 2, 3,")],
    ids=["controllers apart", "a voter is a broker", "two are"],
)
def test_partition_folders_of_a_voter_that_is_a_broker_are_kept(brokers: tuple[int, ...], kept: str | None) -> None:
    case = Some(node_id=1, voters=VOTERS, image=Some(brokers=dict.fromkeys(brokers)), is_dynamic=True)
    (found,) = [each for each in _afterwards(case) if each.id == "old-voters-must-not-return"]  # type: ignore[arg-type]
    assert found.evidence["voters"] == [1, 2, 3]
    if kept is None:
        assert "partition folders" not in found.next_step
    else:
        assert kept in found.next_step
        assert "move their metadata logs away" in found.next_step


@pytest.mark.parametrize(("committed", "shown"), [(118, (118, 119)), (119, (119, 119)), (120, None)])
def test_offsets_of_a_tail_that_may_not_be_committed_are_those_of_its_records(
    committed: int, shown: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The log ends at 120, so its last record is 119.
    monkeypatch.setattr("kafkactl.quorum.recover.remarks.other_lives", lambda _case: ())
    case = Some(source=Some(place=(3, 120), path="/data/m"), losses=Some(unknown=True))
    found = next(remarks(case, Some(), committed))  # type: ignore[arg-type]
    if shown is None:
        assert found.id == "loss-not-knowable"
        return
    assert (found.id, found.evidence) == ("uncommitted-tail-possible", {"first": shown[0], "last": shown[1]})
    assert f"from offset {shown[0]} to {shown[1]} " in found.message
