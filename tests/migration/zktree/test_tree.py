"""Kafka's znodes in a tree: the chroot, found or named, and the paths below it."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.migration.zktree.tree import find_chroots, tree_of
from kafkactl.migration.zktree.znode import Znode
from tests.migration.zk_trees import small, znodes

OTHERS = (Znode(path="/", data=None), Znode(path="/zookeeper/quota", data=b""), Znode(path="/hbase/table", data=b""))


@pytest.mark.parametrize("chroot", ["", "/kafka", "/a/b"])
def test_chroot_is_found(chroot):
    tree = tree_of((*OTHERS, *znodes(small(), chroot)))
    assert tree.chroot == chroot
    assert tree.get("/controller_epoch").data == b"3"
    assert tree.children("/brokers/topics") == ("logs", "orders")
    assert tree.findings == ()


def test_parts_of_a_path_are_children_even_if_not_saved():
    tree = tree_of(znodes(small()))
    assert tree.get("/brokers/topics/orders/partitions") is None
    assert tree.children("/brokers/topics/orders/partitions") == ("0", "1")
    assert "brokers" in tree.children("/")


def test_several_clusters_need_a_name():
    both = (*znodes(small(), "/a"), *znodes(small(), "/b"))
    assert find_chroots(znode.path for znode in both) == ("/a", "/b")
    with pytest.raises(InputError) as error:
        tree_of(both)
    assert error.value.id == "several-kafka-trees"
    assert tree_of(both, "/b").chroot == "/b"
    assert tree_of(both, "/b/").get("/controller").path == "/b/controller"


def test_chroot_does_not_take_its_longer_namesake():
    both = (*znodes(small(), "/kafka"), *znodes({"/controller": b"other"}, "/kafka2"))
    assert tree_of(both, "/kafka").get("/controller").data != b"other"
    assert tree_of(both, "/kafka").children("/") == tree_of(znodes(small())).children("/")


def test_paths_may_be_relative_to_the_named_chroot_already():
    tree = tree_of(znodes(small()), "/kafka")
    assert (tree.chroot, tree.findings) == ("/kafka", ())
    assert tree.get("/cluster/id") is not None


@pytest.mark.parametrize("chroot", ["kafka", "/a//b"])
def test_invalid_chroot_is_refused(chroot):
    with pytest.raises(InputError) as error:
        tree_of(znodes(small()), chroot)
    assert error.value.id == "invalid-chroot"


@pytest.mark.parametrize("given", [(), OTHERS])
def test_absence_of_a_kafka_tree_is_reported(given):
    assert [finding.id for finding in tree_of(given).findings] == ["no-kafka-tree"]


def test_wrong_chroot_is_reported():
    assert [finding.id for finding in tree_of(znodes(small(), "/kafka"), "/other").findings] == ["no-kafka-tree"]


def test_of_two_lines_for_a_path_the_newest_counts():
    old, new = (Znode(path="/controller_epoch", data=data, mzxid=zxid) for data, zxid in ((b"1", 5), (b"2", 9)))
    others = tuple(znode for znode in znodes(small()) if znode.path != old.path)
    for order in ((old, new), (new, old)):
        tree = tree_of((*others, *order))
        assert tree.get("/controller_epoch") == new
        assert [finding.id for finding in tree.findings] == ["duplicate-znode-path"]
