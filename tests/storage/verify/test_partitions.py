"""Partition folders whose topic id does not fit the metadata log: what a KRaft start makes of them."""

from __future__ import annotations

import pytest

from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import metadata_record
from tests.storage.verify.nodes import SEGMENT, VerifyNode, _batch

ID, OTHER = Uuid(b"\x11" * 16), Uuid(b"\x22" * 16)


def _node(make, version: str, roles: str = "broker,controller") -> VerifyNode:
    node = (
        make(version).format("--standalone", roles=roles) if version != "3.7.0" else make(version).format(static=True)
    )
    node.started_once()
    record = encode_record(metadata_record(2), 0, {"Name": "orders", "TopicId": ID})
    path = node.path(f"d1/{SEGMENT}")
    path.write_bytes(path.read_bytes() + _batch([(None, record)], 4, 1))
    return node


def _folder(node: VerifyNode, name: str, content: str | None) -> None:
    folder = node.path(f"d1/{name}")
    folder.mkdir()
    if content is not None:
        (folder / "partition.metadata").write_text(content)


def _answer(kafkactl, node: VerifyNode):
    return kafkactl("storage", "verify", "-c", node.file, "--kafka-version", node.version, "-o", "json")


@pytest.mark.parametrize("content", [None, "version: 0\n"])
def test_folder_without_an_id_is_a_loss(node, kafkactl, content) -> None:
    made = _node(node, "3.9.2")
    _folder(made, "orders-0", content)
    _folder(made, "orders-1", f"version: 0\ntopic_id: {ID}")
    run = _answer(kafkactl, made)
    assert (run.code, run.json["will_start"]) == (7, True)
    found = next(found for found in run.json["findings"] if found["id"] == "partition-folder-without-topic-id")
    assert found["evidence"]["folders"] == [str(made.path("d1/orders-0"))]
    assert f"topic_id: {ID}" in found["next_step"]
    assert [loss["what"] for loss in run.json["would_lose"]] == ["replicas"]


def test_folder_without_an_id_ends_the_start_of_older_releases(node, kafkactl) -> None:
    made = _node(node, "3.7.0")
    _folder(made, "orders-0", None)
    run = _answer(kafkactl, made)
    assert run.json["will_start"] is False
    assert "does not have a topic ID" in run.json["expected_failure"]["message"]


def test_folder_of_another_id_is_a_loss(node, kafkactl) -> None:
    made = _node(node, "4.3.1")
    _folder(made, "orders-0", f"version: 0\ntopic_id: {OTHER}")
    run = _answer(kafkactl, made)
    assert run.code == 7
    assert "partition-folder-of-another-topic-id" in [found["id"] for found in run.json["findings"]]


def test_folders_that_the_metadata_log_does_not_know_are_not_judged(node, kafkactl) -> None:
    made = _node(node, "3.9.2")
    _folder(made, "other-0", None)
    _folder(made, "orders-0", f"version: 0\ntopic_id: {ID}")
    assert not [found for found in _answer(kafkactl, made).json["findings"] if found["id"].startswith("partition-")]
