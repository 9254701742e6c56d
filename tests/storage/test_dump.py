from __future__ import annotations

import json

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.errors import InputError
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.log.checkpoint import encode_bootstrap_checkpoint, encode_first_checkpoint
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.redact import REDACTED
from kafkactl.storage.dump import dump_file, file_type

KEY = b"stored-key-stored-key-stored-key"
LEVEL = MetadataRecord(
    type="FeatureLevelRecord", api_key=12, version=0, data={"Name": "metadata.version", "FeatureLevel": 21}
)
USER = MetadataRecord(
    type="UserScramCredentialRecord",
    api_key=11,
    version=0,
    data={
        "Name": "alice",
        "Mechanism": 1,
        "Salt": b"salt",
        "StoredKey": KEY,
        "ServerKey": KEY,
        "Iterations": 4096,
    },
)
VOTER = Voter(
    node_id=1,
    directory_id=Uuid.parse("JEXY6aqzQY-32P5TStzaFg"),
    endpoints=(Endpoint(listener="CONTROLLER", host="c1", port=9093),),
)
META = b"version=1\ncluster.id=XgM8cvG1S-mQ3k4wGhkVpQ\nnode.id=1\ndirectory.id=JEXY6aqzQY-32P5TStzaFg\n"
QUORUM = b'{"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
BOOTSTRAP = encode_bootstrap_checkpoint([LEVEL, USER], 1_700_000_000_000)
FIRST = encode_first_checkpoint(now_ms=1_700_000_000_000, kraft_version=1, voters=[VOTER], records=[LEVEL])


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        ("/d/meta.properties", b"", "meta.properties"),
        ("/d/quorum-state", b"", "quorum-state"),
        ("/d/x/00000000000000000000-0000000000.checkpoint", b"", "checkpoint"),
        ("bootstrap.checkpoint.tmp", b"", "checkpoint"),
        ("backup-of-something", META, "meta.properties"),
        ("backup-of-something", QUORUM, "quorum-state"),
        ("backup-of-something", BOOTSTRAP, "checkpoint"),
        ("server.cfg", b"listeners=PLAINTEXT://:9092\n", None),
        ("nothing", b"", None),
    ],
)
def test_file_is_known_by_its_name_else_by_its_content(path, data, kind):
    assert file_type(path, data) == kind


def test_file_of_no_known_kind_is_an_error():
    with pytest.raises(InputError) as caught:
        dump_file("nothing", b"hello")
    assert (caught.value.id, caught.value.exit_code) == ("unknown-file-type", 2)


def test_meta_properties_are_dumped():
    found = dump_file("/d/meta.properties", META).to_dict()
    assert (found["version"], found["node_id"], found["directory_id"]) == (1, 1, "JEXY6aqzQY-32P5TStzaFg")
    assert found["properties"]["cluster.id"] == "XgM8cvG1S-mQ3k4wGhkVpQ"


def test_quorum_state_is_dumped():
    state = dump_file("quorum-state", QUORUM).to_dict()["state"]
    assert (state["leader_id"], state["leader_epoch"], state["voted_id"], state["current_voters"]) == (1, 3, -1, None)


def test_checkpoint_is_dumped_with_voters_and_records():
    found = dump_file("a.checkpoint", FIRST).to_dict()
    assert (found["kraft_version"], found["footer"]) == (1, True)
    assert found["voters"][0]["endpoints"] == [{"listener": "CONTROLLER", "host": "c1", "port": 9093}]
    assert [batch["control"] for batch in found["batches"]] == [True, False, True]
    assert found["records"] == [
        {
            "offset": 3,
            "type": "FeatureLevelRecord",
            "version": 0,
            "data": {"name": "metadata.version", "featureLevel": 21},
        }
    ]


def test_keys_of_users_are_hidden_unless_asked_for():
    import base64

    shown = json.dumps(dump_file("bootstrap.checkpoint", BOOTSTRAP).to_dict())
    assert base64.b64encode(KEY).decode() not in shown
    assert "alice" in shown
    user = dump_file("bootstrap.checkpoint", BOOTSTRAP).to_dict()["records"][1]["data"]
    assert (user["storedKey"], user["serverKey"], user["iterations"]) == (REDACTED, REDACTED, 4096)
    user = dump_file("bootstrap.checkpoint", BOOTSTRAP, show_secrets=True).to_dict()["records"][1]["data"]
    assert base64.b64decode(user["storedKey"]) == KEY


@pytest.mark.parametrize(
    ("name", "hidden"), [("listener.name.a.ssl.keystore.password", True), ("compression.type", False)]
)
def test_passwords_in_configurations_are_hidden(name, hidden):
    record = MetadataRecord(
        type="ConfigRecord",
        api_key=4,
        version=0,
        data={"ResourceType": 4, "ResourceName": "1", "Name": name, "Value": "hunter2"},
    )
    data = dump_file("x.checkpoint", encode_bootstrap_checkpoint([record], 0)).to_dict()["records"][0]["data"]
    assert data["value"] == (REDACTED if hidden else "hunter2")


def test_damage_is_reported_with_its_place_and_the_rest_is_shown():
    damaged = bytearray(BOOTSTRAP)
    damaged[100] ^= 1  # inside the CRC of the second batch
    found = dump_file("bootstrap.checkpoint", bytes(damaged))
    assert [finding.id for finding in found.findings] == ["crc-mismatch"]
    assert found.findings[0].evidence["offset"] >= 83
    assert len(found.to_dict()["records"]) == 2


@pytest.mark.parametrize("cut", [0, 1, 60, 90, 150, len(BOOTSTRAP) - 1])
def test_cut_file_is_shown_as_far_as_it_goes(cut):
    found = dump_file("bootstrap.checkpoint", BOOTSTRAP[:cut])
    assert found.findings
    assert all("offset" in finding.evidence for finding in found.findings)


@pytest.mark.parametrize("name", ["meta.properties", "quorum-state"])
def test_unreadable_texts_are_findings_too(name):
    found = dump_file(name, b"version=7\n")
    assert len(found.findings) == 1
    assert found.findings[0].severity == "blocker"
