"""Redaction takes the secrets out and leaves the poison in."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.migration.zktree.parse import parse_znodes
from kafkactl.migration.zktree.redact import redact_znodes
from kafkactl.migration.zktree.znode import Znode, ZnodeAcl, encode_znodes, render_znode
from tests.migration.zk_trees import CREDENTIAL, config, small, text, znodes
from tests.migration.zktree.test_poison import HARMLESS, LETHAL, SILENT
from tests.sampling import one_in

KEYS = st.sampled_from(["SCRAM-SHA-256", "producer_byte_rate", "ssl.key.password", "retention.ms"])
VALUES = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.text(max_size=1)) | st.just(CREDENTIAL)
CONFIGS = st.dictionaries(KEYS, VALUES).map(lambda values: text({"version": 1, "config": values}))
PLACES = ["/config/users/alice", "/config/topics/orders", "/config/brokers/1", "/config/users/alice/clients/<default>"]


def _said(found):
    tree = parse_znodes(found)
    return sorted(
        (finding.id, finding.subject, finding.message) for finding in tree.findings if finding.id != "znodes-hidden"
    )


@pytest.mark.parametrize(("path", "data"), [*((path, data) for path, data, _ in (*LETHAL, *SILENT)), *HARMLESS])
@pytest.mark.parametrize("chroot", one_in(2, ["/kafka", ""]))
def test_poison_stays(path, data, chroot):
    found = znodes(small() | {path: data}, chroot)
    assert _said(redact_znodes(found)) == _said(found)


@given(st.sampled_from(PLACES), CONFIGS | st.binary(max_size=30))
def test_every_kind_of_value_is_judged_alike(path, data):
    found = znodes(small() | {path: data})
    assert _said(redact_znodes(found)) == _said(found)


@pytest.mark.parametrize("path", PLACES[:3])
@pytest.mark.parametrize(
    "data",
    [
        config(**{"ssl.key.password": "hush-hush", "SCRAM-SHA-256": "hush-hush"}),
        config(**{"listener.name.x.ssl.keystore.key": "hush-hush", "my_password": "hush-hush"}),
        b'{"version":1,"config":{"ssl.key.password":"hush-hush',
        text({"ssl.key.password": "hush-hush"}),
        config() + b" hush-hush",
        text({"config": {}, "password": "hush-hush"}),
    ],
)
def test_no_secret_is_saved(path, data):
    found = list(redact_znodes(znodes({**small(), path: data}, "/kafka")))
    saved = b"".join(znode.data or b"" for znode in found)
    assert b"hush" not in saved


def test_credentials_are_unknown_and_the_rest_is_known():
    found = list(redact_znodes(znodes(small())))
    tree = parse_znodes(found)
    assert tree.scram == {}
    assert tree.client_quotas == parse_znodes(znodes(small())).client_quotas
    assert {"/config/users/alice SCRAM-SHA-256", "/config/users/bob%40x.com SCRAM-SHA-512"} <= set(tree.hidden)
    secret = base64.b64encode(b"\2" * 32)
    assert not any(secret in (znode.data or b"") for znode in found)
    assert parse_znodes(redact_znodes(found)) == tree


def test_hashes_in_access_lists_go():
    acl = (ZnodeAcl(perms=31, scheme="digest", id="super:hash="), ZnodeAcl(perms=1, scheme="world", id="anyone"))
    (znode,) = redact_znodes([Znode(path="/controller", data=b"{}", acl=acl)])
    assert "hash" not in render_znode(znode)
    assert [entry.id for entry in znode.acl] == ["super:<redacted>", "anyone"]
    assert encode_znodes([znode])
