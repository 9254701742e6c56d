"""Checks of a migration on the ZooKeeper tree: one row for each finding, and a healthy tree without findings."""

from __future__ import annotations

import pytest

from kafkactl.migration.zktree.checks import check_tree, highest_controller_epoch
from kafkactl.migration.zktree.parse import parse_znodes
from kafkactl.migration.zktree.znode import Hidden, Znode
from tests.migration.zk_trees import ORDERS_ID, parsed, small, text, without, znodes

STATE = "/brokers/topics/orders/partitions/0/state"
LOGS = ["/brokers/topics/logs", "/brokers/topics/logs/partitions/0/state", "/admin/delete_topics/logs"]
HEALTHY = without(small(), LOGS)


def _state(**changes):
    fields = {"controller_epoch": 3, "leader": 1, "version": 1, "leader_epoch": 4, "isr": [1, 2]}
    return text(fields | changes)


def _migration(offset):
    names = ("kraft_controller_id", "kraft_controller_epoch", "kraft_metadata_epoch")
    return text({"version": 0, "kraft_metadata_offset": offset, **dict.fromkeys(names, 1)})


def _holder(broker, epoch):
    return text({"version": 2, "brokerid": broker, "timestamp": "1", "kraftControllerEpoch": epoch})


def _said(changes):
    return [finding.id for finding in check_tree(parse_znodes(znodes(HEALTHY | changes)))]


CASES = [
    ({"/controller": _holder(9, -1)}, ["controller-not-a-live-broker"]),
    ({"/controller": _holder(3001, 1), "/migration": _migration(236)}, []),
    ({"/migration": _migration(236)}, ["stale-migration-znode"]),
    ({"/migration": _migration(-1)}, []),
    ({"/brokers/topics/orders": text({"partitions": {"0": [1, 2], "1": [2, 7]}, "topic_id": ORDERS_ID})},
     ["replica-on-absent-broker"]),
    ({STATE: _state(controller_epoch=10)}, ["controller-epoch-behind-states"]),
    ({"/controller": _holder(3001, 10)}, ["controller-epoch-behind-states"]),
    ({STATE: _state(leader=2, isr=[1])}, ["partition-state-contradiction"]),
    ({STATE: _state(isr=[1, 2, 3])}, ["partition-state-contradiction"]),
    ({STATE: _state(leader=-1)}, []),
    ({"/admin/reassign_partitions": text({"partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]})},
     ["legacy-reassignment-lost"]),
]  # fmt: skip


def test_healthy_tree_has_no_findings():
    assert _said({}) == []


@pytest.mark.parametrize(("changes", "ids"), CASES)
def test_each_danger_is_named(changes, ids):
    assert _said(changes) == ids


def test_work_in_progress_is_reported():
    ids = [finding.id for finding in check_tree(parsed())]
    assert ids == ["reassignment-before-migration", "topic-deletion-before-migration"]


def test_after_the_copy_brokers_may_leave_zookeeper():
    away = without(HEALTHY, ["/brokers/ids/1", "/brokers/ids/2"])
    assert "replica-on-absent-broker" in [finding.id for finding in check_tree(parse_znodes(znodes(away)))]
    copied = away | {"/controller": _holder(3001, 1), "/migration": _migration(236)}
    assert check_tree(parse_znodes(znodes(copied))) == ()


def test_broker_that_could_not_be_read_is_not_absent():
    hidden = [
        Znode(path=znode.path, data=None, hidden=Hidden.NO_PERMISSION) if znode.path == "/brokers/ids/2" else znode
        for znode in znodes(HEALTHY)
    ]
    assert check_tree(parse_znodes(hidden)) == ()


@pytest.mark.parametrize(("holder", "severity"), [(_holder(1, -1), "blocker"), (_holder(3001, 1), "warning")])
def test_epoch_behind_weighs_most_when_nothing_can_raise_it(holder, severity):
    (finding,) = check_tree(parse_znodes(znodes(HEALTHY | {STATE: _state(controller_epoch=10), "/controller": holder})))
    assert (finding.id, finding.severity.value) == ("controller-epoch-behind-states", severity)


def test_epoch_for_a_rollback_is_the_highest_of_all_znodes():
    assert highest_controller_epoch(parsed()) == 3
    assert highest_controller_epoch(parsed({STATE: _state(controller_epoch=10)})) == 10
    assert highest_controller_epoch(parsed({"/controller": _holder(3001, 12)})) == 12


def test_many_partitions_are_one_finding():
    lists = {str(number): [1, 7] for number in range(300)}
    orders = text({"partitions": lists, "topic_id": ORDERS_ID})
    tree = parse_znodes(znodes(HEALTHY | {"/brokers/topics/orders": orders}))
    (finding,) = [finding for finding in check_tree(tree) if finding.id == "replica-on-absent-broker"]
    assert finding.subject == "broker 7"
    assert finding.evidence == {"partitions": 300}
    assert "and 295 more" in finding.message


def test_brokers_that_the_tree_does_not_show_are_unknown_and_not_absent():
    def shown(*paths):
        return [znode for znode in znodes(small()) if not znode.path.startswith(paths)]

    without_any = parse_znodes(shown("/brokers/ids"))
    assert not without_any.knows_brokers
    assert not {"replica-on-absent-broker", "controller-not-a-live-broker"} & {
        finding.id for finding in check_tree(without_any)
    }
    emptied = parse_znodes([*shown("/brokers/ids"), Znode(path="/brokers/ids", data=None)])
    assert "replica-on-absent-broker" in {finding.id for finding in check_tree(emptied)}
