"""A node's file that was edited by hand between two phases: found, shown without secrets, carried over or refused."""

from __future__ import annotations

import pytest

from kafkactl.migration.render.hand_edits import HandEdits, edit_finding, hand_edit

OWN = b"broker.id=1\nnum.io.threads=8\nzookeeper.connect=zk:2181\n# note\nssl.key.password=old\n"
KRAFT = b"node.id=1\nprocess.roles=broker\nnum.io.threads=8\n# note\nssl.key.password=old\n"


def edit(current: bytes):
    return hand_edit("broker 1", current, known=[KRAFT], original=OWN)


@pytest.mark.parametrize("known", [OWN, KRAFT])
def test_file_that_the_driver_knows_is_not_an_edit(known: bytes) -> None:
    assert edit(known) is None


def test_edit_in_a_key_of_no_phase_goes_into_the_own_file() -> None:
    found = edit(KRAFT.replace(b"threads=8", b"threads=5") + b"log.retention.hours=1\n")
    assert found is not None
    assert found.keys == {"log.retention.hours": "1", "num.io.threads": "5"}
    assert found.conflicts == ()
    assert found.own == OWN.replace(b"threads=8", b"threads=5") + b"log.retention.hours=1\n"
    assert "num.io.threads 8 -> 5" in found.words and "log.retention.hours (absent) -> 1" in found.words
    assert "+num.io.threads=5" in found.diff


def test_key_that_is_gone_is_gone_from_the_own_file() -> None:
    found = edit(KRAFT.replace(b"num.io.threads=8\n", b""))
    assert found is not None and found.own == OWN.replace(b"num.io.threads=8\n", b"")


@pytest.mark.parametrize(
    ("current", "key"),
    [
        (KRAFT.replace(b"process.roles=broker", b"process.roles=broker,controller"), "process.roles"),
        (KRAFT + b"zookeeper.connect=zk2:2181\n", "zookeeper.connect"),
        (OWN + b"zookeeper.metadata.migration.enable=true\n", "zookeeper.metadata.migration.enable"),
    ],
)
def test_edit_in_a_key_of_the_phases_is_never_carried(current: bytes, key: str) -> None:
    found = edit(current)
    assert found is not None and found.own is None and key in found.conflicts
    refused = edit_finding(found, HandEdits.CARRY)
    assert refused is not None and refused.evidence["conflicts"] == list(found.conflicts)
    assert edit_finding(found, HandEdits.OVERWRITE) is None


def test_own_file_edited_is_the_own_file_whole() -> None:
    current = OWN.replace(b"# note", b"# another note") + b"log.retention.hours=1\n"
    found = edit(current)
    assert found is not None and found.own == current


def test_comments_are_an_edit_as_well() -> None:
    found = edit(KRAFT.replace(b"# note", b"# do not touch"))
    assert found is not None and found.keys == {}
    assert edit_finding(found, HandEdits.REFUSE) is not None


def test_no_secret_is_shown() -> None:
    found = edit(KRAFT.replace(b"=old", b"=verysecret"))
    assert found is not None
    refused = edit_finding(found, HandEdits.REFUSE)
    assert refused is not None
    shown = f"{refused.to_dict()} {found!r}"
    assert "verysecret" not in shown and "=old" not in shown
    assert refused.evidence["keys"] == ["ssl.key.password"]
