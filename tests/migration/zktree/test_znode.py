"""Saved trees: what is written is read again, what is damaged costs only itself."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import InputError
from kafkactl.migration.zktree import znode as znode_module
from kafkactl.migration.zktree.znode import (
    Hidden,
    Znode,
    ZnodeAcl,
    decode_znodes,
    encode_znodes,
    parse_znode,
    render_znode,
)

ZNODE = Znode(
    path="/kafka/config/users/älice",
    data=b"\x00secret",
    version=3,
    czxid=1 << 40,
    ephemeral_owner=0x10000,
    acl=(ZnodeAcl(perms=31, scheme="digest", id="super:hash"),),
)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
ACLS = st.builds(ZnodeAcl, perms=st.integers(0, 31), scheme=st.text(), id=st.text())
PARTS = st.text(st.characters(exclude_characters="/"), min_size=1)
ZNODES = st.builds(
    Znode,
    path=st.lists(PARTS).map(lambda parts: "/" + "/".join(parts)),
    data=st.none() | st.binary(),
    version=NUMBERS,
    czxid=NUMBERS,
    mtime_ms=NUMBERS,
    num_children=NUMBERS,
    acl=st.lists(ACLS).map(tuple),
)


@pytest.mark.slow
@given(st.lists(ZNODES))
def test_written_znodes_are_read_again(znodes):
    saved = decode_znodes(encode_znodes(znodes), file="zk.jsonl.gz")
    assert saved.znodes == tuple(znodes)
    assert saved.findings == ()


def test_line_has_the_fields_of_the_format():
    assert json.loads(render_znode(ZNODE)) == {
        "path": "/kafka/config/users/älice",
        "data": base64.b64encode(b"\x00secret").decode(),
        "version": 3,
        "cversion": 0,
        "czxid": 1 << 40,
        "mzxid": 0,
        "pzxid": 0,
        "ctime_ms": 0,
        "mtime_ms": 0,
        "ephemeral_owner": 0x10000,
        "num_children": 0,
        "acl": [[31, "digest", "super:hash"]],
    }


def test_bytes_are_a_gzip_file_and_always_the_same():
    packed = encode_znodes([ZNODE])
    assert gzip.decompress(packed) == render_znode(ZNODE).encode() + b"\n"
    assert packed == encode_znodes([ZNODE])


def test_plain_lines_and_several_gzip_members_are_read_too():
    line = render_znode(ZNODE).encode() + b"\n"
    assert decode_znodes(line, file="f").znodes == (ZNODE,)
    assert decode_znodes(encode_znodes([ZNODE]) * 2, file="f").znodes == (ZNODE, ZNODE)


def test_hidden_data_is_known_as_unknown():
    for hidden in Hidden:
        znode = parse_znode(json.dumps({"path": "/x", "data": hidden.value}).encode())
        assert znode.data is None
        assert znode.hidden is hidden
        assert parse_znode(render_znode(znode).encode()) == znode


def test_null_data_and_empty_data_differ():
    assert parse_znode(b'{"path":"/x","data":null}').data is None
    assert parse_znode(b'{"path":"/x","data":""}').data == b""


def test_secret_is_absent_from_a_repr():
    assert "secret" not in repr(ZNODE)
    assert "hash" not in repr(ZNODE)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "no JSON"),
        (b"[]", "no JSON object"),
        (b"{}", "not an absolute path"),
        (b'{"path":"a"}', "not an absolute path"),
        (b'{"path":"/a/"}', "empty part"),
        (b'{"path":"/a","data":7}', "neither base64 nor null"),
        (b'{"path":"/a","data":"***"}', "not base64"),
        ('{"path":"/a","data":"ä"}'.encode(), "not base64"),
        (b'{"path":"/a","version":"1"}', "version is not a whole number"),
        (b'{"path":"/a","version":true}', "version is not a whole number"),
        (b'{"path":"/a","acl":{}}', "acl is not a list"),
        (b'{"path":"/a","acl":[[1,"world"]]}', "an entry of acl"),
        (b"[" * 100_000, "no JSON"),
        (b'{"path":"/a","version":' + b"9" * 5000 + b"}", "no JSON"),
    ],
)
def test_unreadable_line_does_not_affect_others(line, reason):
    saved = decode_znodes(b"\n".join([render_znode(ZNODE).encode(), line, b'{"path":"/b"}']), file="f")
    assert [znode.path for znode in saved.znodes] == [ZNODE.path, "/b"]
    (finding,) = saved.findings
    assert finding.id == "znode-line-unreadable"
    assert reason in finding.message
    assert finding.evidence["lines"] == [2]


def test_million_wrong_lines_are_one_finding():
    saved = decode_znodes(b"no\n" * 10_000, file="f")
    assert [(finding.id, finding.evidence["count"]) for finding in saved.findings] == [
        ("znode-line-unreadable", 10_000)
    ]


def test_line_that_is_too_long_is_skipped_and_reported(monkeypatch):
    monkeypatch.setattr(znode_module, "MAX_LINE_BYTES", 100)
    saved = decode_znodes(gzip.compress(b'{"path":"/' + b"a" * 500_000 + b'"}\n{"path":"/b"}'), file="f")
    assert [znode.path for znode in saved.znodes] == ["/b"]
    assert "longer than 100 bytes" in saved.findings[0].message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"path":"/0"}\n' * 12_000, "more than 10000 znodes"),
        (b"x\n" * 12_000, "more than 10000 znodes"),
        (b"".join(b'{"path":"/%d/a/a/a/a/a/a/a/a/a"}\n' % number for number in range(1_200)), "more than 10000 znodes"),
        (b'{"path":"/a","data":"' + b"A" * 17_000_000 + b'"}', "more than 16777216 bytes when unpacked"),
        (b"\n" * 17_000_000, "more than 16777216 bytes when unpacked"),
    ],
    ids=["znodes", "wrong lines", "folders", "data", "blank lines"],
)
def test_bomb_is_refused_with_its_limit(content, words):
    with pytest.raises(InputError, match=words) as caught:
        decode_znodes(gzip.compress(content), file="f")
    assert caught.value.id == "saved-tree-too-large"
    assert caught.value.advice


def test_large_file_may_hold_more_than_a_small_one(monkeypatch):
    monkeypatch.setattr(znode_module, "_ALWAYS_ZNODES", 10)
    many = [Znode(path=f"/{number}", data=b"{}", czxid=number * 7919) for number in range(1000)]
    assert len(decode_znodes(encode_znodes(many), file="f").znodes) == 1000
    monkeypatch.setattr(znode_module, "MOST_ZNODES", 900)
    with pytest.raises(InputError, match="more than 900 znodes"):
        decode_znodes(encode_znodes(many), file="f")


def test_missing_parents_are_counted_once():
    lines = [b'{"path":"/brokers/topics/t/partitions/%d/state"}\n' % number for number in range(4_900)]
    assert len(decode_znodes(gzip.compress(b"".join(lines)), file="f").znodes) == 4_900


def test_blank_lines_are_counted_and_skipped():
    content = b"\n" * 200_000 + render_znode(ZNODE).encode() + b"\n \r\n\nno\n" + b"  \n" * 100_000
    for data in (content, gzip.compress(content)):
        saved = decode_znodes(data, file="f")
        assert saved.znodes == (ZNODE,)
        assert [finding.evidence["lines"] for finding in saved.findings] == [[200_004]]


def test_too_deep_path_is_refused():
    for path in ("/a" * 101, "/" + "a" * 70_000):
        with pytest.raises(ValueError, match="deeper than 100 levels"):
            parse_znode(json.dumps({"path": path}).encode())


def test_cut_off_file_gives_what_is_whole():
    many = [Znode(path=f"/{number}", data=bytes([number % 256]) * 40) for number in range(5000)]
    packed = encode_znodes(many)
    saved = decode_znodes(packed[: len(packed) // 2], file="f")
    assert 0 < len(saved.znodes) < 5000
    assert saved.znodes == tuple(many[: len(saved.znodes)])
    assert "saved-tree-damaged" in [finding.id for finding in saved.findings]


def test_damage_is_reported():
    packed = bytearray(encode_znodes([ZNODE] * 100))
    packed[-6] ^= 0xFF  # in the checksum
    assert "saved-tree-damaged" in [finding.id for finding in decode_znodes(bytes(packed), file="f").findings]


@given(st.binary() | st.binary().map(lambda data: b"\x1f\x8b\x08\x00" + data))
def test_any_bytes_are_read_or_reported(data):
    saved = decode_znodes(data, file="f")
    assert saved.znodes or saved.findings or not data.strip()
