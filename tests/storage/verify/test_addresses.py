"""Addresses of voters: two at one place, an own entry on another port, a voter set under old names."""

from __future__ import annotations

import pytest

from kafkactl.core.values import Uuid
from tests.storage.verify.nodes import SEGMENT, blocker_ids, voters_batch

OTHER = Uuid(b"\x43" * 16)
VOTERS = "controller.quorum.voters"


def one(answer, id):
    """Return the only finding with this id."""
    (found,) = [finding for finding in answer.findings if finding.id == id]
    return found


def static(node, voters, version="4.3.1", **more):
    made = node(version).format(static=True, **more)
    text = made.file.read_text().replace(f"{VOTERS}=1@localhost:9093", f"{VOTERS}={voters}")
    made.file.write_text(text)
    return made


@pytest.mark.parametrize(
    ("voters", "never"),
    [
        ("1@h1:9093,2@h1:9093,3@h1:9093", True),
        ("1@H1:9093,2@h1:9093", True),
        ("1@h1:9093,2@h1:9093,3@h3:9093", False),
        ("1@h1:9093,2@h1:9094,3@h1:9095", None),
    ],
)
def test_no_leader_is_elected_if_voters_share_the_address_of_a_majority(node, voters, never):
    answer = static(node, voters).verify()
    if never is None:
        assert "voters-share-address" not in [finding.id for finding in answer.findings]
        return
    found = one(answer, "voters-share-address")
    assert "h1:9093" in found.message
    assert (found.severity.value, answer.will_start) == (("blocker", False) if never else ("warning", True))
    assert answer.expected_failure is None or answer.expected_failure.waits


@pytest.mark.parametrize("roles", ["broker,controller", "controller"])
@pytest.mark.parametrize(("version", "starts"), [("3.7.2", True), ("3.8.1", False), ("4.4.0", False)])
def test_voter_at_any_address_ends_the_start_from_3_8_on(node, version, starts, roles):
    answer = static(node, "1@0.0.0.0:9093", version, roles=roles).verify()
    assert answer.will_start is starts
    if not starts:
        assert one(answer, "quorum-voter-not-routable").next_step.startswith("Give voter 1 ")
        assert answer.expected_failure.message == "Host string (0.0.0.0) is not routeable"


def test_controller_alone_whose_voters_share_an_address_never_has_a_leader(node):
    answer = static(node, "1@h1:9093,2@h1:9093,3@h1:9093", roles="controller").verify()
    assert blocker_ids(answer) == ["voters-share-address"]
    assert [loss.what for loss in answer.would_lose] == ["vote"]


@pytest.mark.parametrize(
    ("voters", "roles", "will_start"),
    [
        ("1@h1:9095,2@h2:9093,3@h3:9093", "broker,controller", True),  # another voter can lead
        ("1@localhost:9095", "broker,controller", None),  # its own broker looks for it there
        ("1@localhost:9095", "controller", True),
    ],
)
def test_own_entry_on_a_port_without_a_listener_is_reported(node, voters, roles, will_start):
    answer = static(node, voters, roles=roles).verify()
    found = one(answer, "voter-endpoint-mismatch")
    assert "9095" in found.message and "9093" in found.message
    assert found.severity.value == "warning"
    assert answer.will_start is will_start


def test_own_entry_on_the_port_of_its_listener_is_not_reported(node):
    assert "voter-endpoint-mismatch" not in [finding.id for finding in static(node, "1@h1:9093").verify().findings]


def dynamic(node, voters, servers, listener, **more):
    """Return a node whose log has a voter set; endpoints are localhost:9093 and up, by node id."""
    made = node("4.3.1").format("--standalone")
    made.started_once()
    ids = [(1, own_directory(made)), *((other, OTHER) for other in voters)]
    path = made.path(f"d1/{SEGMENT}")
    path.write_bytes(path.read_bytes() + voters_batch(ids, 4))
    settings = {"listeners": f"PLAINTEXT://:9092,CONTROLLER://{listener}"} | more
    return made.configure(**settings, **{"controller_quorum_bootstrap_servers": servers})


def own_directory(node):
    text = node.path("d1/meta.properties").read_text()
    return Uuid.parse(text.partition("directory.id=")[2].partition("\n")[0])


def test_whole_quorum_at_addresses_that_no_file_has_is_a_blocker_that_names_both(node):
    answer = dynamic(node, [2, 3], "new1:9193,new2:9193", "new1:9193").verify()
    found = one(answer, "voters-at-old-addresses")
    assert found.severity.value == "blocker" and answer.will_start is None
    for address in ("localhost:9093", "new1:9193", "2 at localhost:9094", "3 at localhost:9095"):
        assert address in found.message


@pytest.mark.parametrize(("version", "words"), [("4.0.2", "Within seconds"), ("3.9.2", "add-controller")])
def test_remedy_for_moved_voters_is_that_of_the_release(node, version, words):
    moved = dynamic(node, [2, 3], "new1:9193,new2:9193", "new1:9193")
    assert words in one(moved.verify(version), "voters-at-old-addresses").next_step


def test_one_moved_voter_is_a_warning_if_others_are_at_their_addresses(node):
    answer = dynamic(node, [2, 3], "localhost:9094,localhost:9095", "new1:9193").verify()
    assert one(answer, "voter-address-differs").severity.value == "warning"
    assert answer.will_start


@pytest.mark.parametrize(
    ("voters", "listener"),
    [
        ([], "new1:9193"),  # a sole voter elects itself wherever it listens (measured)
        ([2, 3], "localhost:9093"),
        ([2, 3], "LOCALHOST:9093"),
        ([2, 3], ":9093"),
    ],
)
def test_voter_that_can_be_found_is_not_reported(node, voters, listener):
    ids = [finding.id for finding in dynamic(node, voters, "other:9193", listener).verify().findings]
    assert not {"voters-at-old-addresses", "voter-address-differs"} & set(ids)
