"""The four layouts: which files each directory gets, and bytes that Kafka's own writers made.

The vectors are output of Kafka's Formatter and writers (3.9 and 4.4 branches); their times stand in the batches, one
later than the other by some milliseconds, so all of them are set to one time here and the checksums made again.
"""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.errors import SchemaError
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.protocol.crc32c import crc32c
from kafkactl.storage.format import files as planned_files
from kafkactl.storage.format.files import NodeFiles

NOW_MS = 0x1A1F87F5563
ID = Uuid.parse("JEXY6aqzQY-32P5TStzaFg")
OTHER_ID = Uuid.parse("MvDxzVmcRsaTz33bUuRU6A")
ZERO_NAME = f"{METADATA_LOG}/{FIRST_CHECKPOINT}"

# bootstrap.checkpoint of 3.9 with metadata.version=21 alone.
BOOTSTRAP = bytes.fromhex(
    "0000000000000000000000470000000002473e8c1f002000000000000001a1f87f5563000001a1f87f5563ffffffffffffffffffffffffffff0000"
    "00012a00000008000000031600000000000000000000000000000000000000010000004f0000000002cc9e448a000000000000000001a1f87f55a8"
    "000001a1f87f55a8ffffffffffffffffffffffffffff000000013a000000012e010c00116d657461646174612e76657273696f6e00150000000000"
    "00000000020000003f0000000002efd92355002000000000000001a1f87f55a9000001a1f87f55a9ffffffffffffffffffffffffffff000000011a"
    "00000008000000040600000000"
)
# 0-0 checkpoint of 3.9 with the voters 0@example.com:8082 and 1@[::1]:8083.
FIRST_OF_VOTERS = bytes.fromhex(
    "0000000000000000000000d60000000002eca4cbfd002000000002000001a1f87f56f1000001a1f87f56f1ffffffffffffffffffffffffffff0000"
    "00032a0000000800000003160000000001a1f87f56df00001e00000208000000050a000000010000fa010000040800000006e40100000300000000"
    "2445d8e9aab3418fb7d8fe534adcda16020b434f4e54524f4c4c45520c6578616d706c652e636f6d1f92000000000100000000000132f0f1cd599c"
    "46c693cf7ddb52e454e8020b434f4e54524f4c4c455210303a303a303a303a303a303a303a311f9300000000010000000000000000000000030000"
    "003f000000000229e8f1f1002000000000000001a1f87f56fc000001a1f87f56fcffffffffffffffffffffffffffff000000011a00000008000000"
    "040600000000"
)
# 0-0 checkpoint of 4.4 of a static quorum.
FIRST_OF_STATIC = bytes.fromhex(
    "0000000000000000000000470000000002506a3650002000000000000001a1f8814fd9000001a1f8814fd9ffffffffffffffffffffffffffff0000"
    "00012a0000000800000003160000000001a1f8814fba00000000000000000001000000f1000000000222d29521000000000005000001a1f8814fed"
    "000001a1f8814fedffffffffffffffffffffffffffff000000063a000000012e010c00116d657461646174612e76657273696f6e001e00005a0000"
    "02014e010c0021656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e00010000340000040128010c000e67726f75702e"
    "76657273696f6e00010000340000060128010c000e73686172652e76657273696f6e0001000038000008012c010c001073747265616d732e766572"
    "73696f6e000100004000000a0134010c00147472616e73616374696f6e2e76657273696f6e0002000000000000000000070000003f000000000207"
    "4d9547002000000000000001a1f8814ff0000001a1f8814ff0ffffffffffffffffffffffffffff000000011a00000008000000040600000000"
)


def one_time(vector: bytes) -> bytes:
    """Return the vector with NOW_MS in every batch (and in the header record, unless it is 0), and right checksums."""
    out, position = b"", 0
    while position < len(vector):
        end = position + 12 + struct.unpack_from(">i", vector, position + 8)[0]
        batch = bytearray(vector[position:end])
        batch[27:43] = struct.pack(">qq", NOW_MS, NOW_MS)
        header = batch.find(bytes.fromhex("00000003160000"), 61)
        if position == 0 and any(batch[header + 7 : header + 15]):
            batch[header + 7 : header + 15] = struct.pack(">q", NOW_MS)
        batch[17:21] = struct.pack(">I", crc32c(bytes(batch[21:])))
        out, position = out + bytes(batch), end
    return out


def node(layout: int, **changes: Any) -> NodeFiles:
    settings: dict[str, Any] = {
        "layout": layout,
        "cluster_id": "XgM8cvG1S-mQ3k4wGhkVpQ",
        "node_id": 0,
        "now_ms": NOW_MS,
        "is_controller": True,
        "metadata_version_level": 21,
        "features": {},
        "kraft_version": 0,
        "voters": None,
        "scram": (),
    }
    return NodeFiles(**settings | changes)


VOTERS = tuple(
    Voter(
        node_id=node_id, directory_id=directory_id, endpoints=(Endpoint(listener="CONTROLLER", host=host, port=port),)
    )
    for node_id, directory_id, host, port in (
        (0, ID, "example.com", 8082),
        (1, OTHER_ID, "0:0:0:0:0:0:0:1", 8083),
    )
)


def names(files: tuple[Any, ...]) -> list[str]:
    return [file.name for file in files]


def content(files: tuple[Any, ...], name: str) -> bytes:
    return next(file.content for file in files if file.name == name)


def test_bootstrap_checkpoint_has_kafkas_bytes() -> None:
    assert content(node(3).of_directory(ID, is_metadata=True), "bootstrap.checkpoint") == one_time(BOOTSTRAP)
    assert len(BOOTSTRAP) == 249


def test_first_checkpoint_of_a_dynamic_quorum_has_kafkas_bytes() -> None:
    files = node(3, kraft_version=1, voters=VOTERS).of_directory(ID, is_metadata=True)
    assert content(files, ZERO_NAME) == one_time(FIRST_OF_VOTERS)


def test_first_checkpoint_of_layout_4_has_kafkas_bytes() -> None:
    features = {
        "transaction.version": 2, "group.version": 1, "eligible.leader.replicas.version": 1, "share.version": 1,
        "streams.version": 1,
    }  # fmt: skip
    files = node(4, metadata_version_level=30, features=features).of_directory(ID, is_metadata=True)
    assert content(files, ZERO_NAME) == one_time(FIRST_OF_STATIC)
    assert len(FIRST_OF_STATIC) == 411


def test_meta_properties_has_kafkas_bytes() -> None:
    files = node(3, now_ms=1_795_170_457_000).of_directory(ID, is_metadata=False)
    assert content(files, "meta.properties") == (
        b"#\n#Fri Nov 20 10:27:37 UTC 2026\nnode.id=0\ndirectory.id=JEXY6aqzQY-32P5TStzaFg\nversion=1\n"
        b"cluster.id=XgM8cvG1S-mQ3k4wGhkVpQ\n"
    )


@pytest.mark.parametrize("layout", [1, 2])
def test_layouts_1_and_2_put_the_same_names_everywhere(layout: int) -> None:
    files = node(layout)
    directory_id = None if layout == 1 else ID
    for is_metadata in (True, False):
        written = files.of_directory(directory_id, is_metadata=is_metadata)
        assert names(written) == ["bootstrap.checkpoint", "meta.properties"]
        assert (b"directory.id" in content(written, "meta.properties")) == (layout == 2)


def test_layout_3_adds_the_first_checkpoint_where_voters_are_named() -> None:
    dynamic = node(3, kraft_version=1, voters=VOTERS)
    assert names(dynamic.of_directory(ID, is_metadata=True)) == [ZERO_NAME, "bootstrap.checkpoint", "meta.properties"]
    assert names(dynamic.of_directory(OTHER_ID, is_metadata=False)) == ["bootstrap.checkpoint", "meta.properties"]
    joining = node(3, kraft_version=1)
    assert names(joining.of_directory(ID, is_metadata=True)) == ["bootstrap.checkpoint", "meta.properties"]


def test_layout_4_gives_a_controller_the_first_checkpoint_and_a_broker_none() -> None:
    assert names(node(4).of_directory(ID, is_metadata=True)) == [ZERO_NAME, "meta.properties"]
    assert names(node(4).of_directory(ID, is_metadata=False)) == ["meta.properties"]
    broker = node(4, is_controller=False, kraft_version=1, voters=VOTERS)
    assert names(broker.of_directory(ID, is_metadata=True)) == ["meta.properties"]


def test_layout_4_joining_controller_knows_the_kraft_version_and_no_voters() -> None:
    first = decode_checkpoint(content(node(4, kraft_version=1).of_directory(ID, is_metadata=True), ZERO_NAME))
    assert (first.kraft_version, first.voters) == (1, None)
    assert [record.type for _, record in first.records] == ["FeatureLevelRecord"]


def test_snapshots_are_read_only_and_the_rest_follows_the_umask() -> None:
    files = node(3, kraft_version=1, voters=VOTERS).of_directory(ID, is_metadata=True)
    assert [file.mode for file in files] == [0o400, None, None]


def test_records_stand_in_kafkas_order() -> None:
    files = node(3, features={"b.version": 1, "a.version": 2})
    assert [record.data["Name"] for record in files.records] == ["metadata.version", "a.version", "b.version"]


def test_nothing_of_a_credential_is_in_a_repr() -> None:
    from kafkactl.protocol.catalog.releases import find_release
    from kafkactl.storage.format.scram import parse_scram

    credential = parse_scram(
        "SCRAM-SHA-256=[name=alice,password=secret]", release=find_release("4.3"), salt=b"salt-salt"
    )
    files = node(4, scram=(credential,))
    shown = repr(files) + repr(files.of_directory(ID, is_metadata=True))
    assert "secret" not in shown
    assert credential.stored_key.hex() not in shown
    assert repr(credential.stored_key) not in shown
    assert "alice" not in shown


@pytest.mark.parametrize(("layout", "writer"), [(3, "encode_bootstrap_checkpoint"), (4, "encode_first_checkpoint")])
def test_checkpoint_with_other_content_is_not_planned(
    layout: int, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = node(layout, metadata_version_level=20)
    (content,) = (
        file.content for file in other.of_directory(ID, is_metadata=True) if file.name.endswith(".checkpoint")
    )
    planned_files._keyless_bootstrap.cache_clear()  # which keeps what was checked before
    monkeypatch.setattr(f"kafkactl.storage.format.files.{writer}", lambda *_, **__: content)
    with pytest.raises(SchemaError, match="do not decode to the intended content; nothing was written") as caught:
        node(layout).of_directory(ID, is_metadata=True)
    assert caught.value.id == "planned-bytes-do-not-decode"


def test_meta_properties_of_another_node_are_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    (content,) = (file.content for file in node(3, node_id=7).of_directory(ID, is_metadata=False)[-1:])
    monkeypatch.setattr("kafkactl.storage.format.files.render_meta_properties", lambda **_: content)
    with pytest.raises(SchemaError, match=r"planned for meta\.properties") as caught:
        node(3).of_directory(ID, is_metadata=False)
    assert caught.value.id == "planned-bytes-do-not-decode"
