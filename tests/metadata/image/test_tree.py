"""The image as a tree: what is where, and names that would break a path."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import Image, LogRecord
from kafkactl.metadata.image.tree import File, Folder, find, resolved, tree_of, walk
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.definitions import message

ID = Uuid(bytes(15) + b"\1")


def image(*records: tuple[str, dict[str, object]]) -> Image:
    made = []
    for offset, (name, data) in enumerate(
        (("FeatureLevelRecord", {"Name": "metadata.version", "FeatureLevel": 30}), *records)
    ):
        spec = message(name)
        version = spec.valid_versions.highest
        value, _ = decode_message(spec, version, encode_message(spec, version, data))
        made.append(
            LogRecord(offset, 1, 5, MetadataRecord(type=name, api_key=spec.api_key or 0, version=version, data=value))
        )
    return replay(made).image


TREE = tree_of(
    image(
        ("TopicRecord", {"Name": "t", "TopicId": ID}),
        (
            "PartitionRecord",
            {
                "TopicId": ID,
                "PartitionId": 0,
                "Replicas": [1],
                "Isr": [1],
                "Leader": 1,
                "LeaderEpoch": 0,
                "PartitionEpoch": 0,
                "Directories": [ID],
            },
        ),
        ("ConfigRecord", {"ResourceType": 4, "ResourceName": "", "Name": "ssl.key.password", "Value": "x"}),
        ("ClientQuotaRecord", {"Entity": [{"EntityType": "user", "EntityName": None}], "Key": "k", "Value": 1.5}),
        (
            "UserScramCredentialRecord",
            {"Name": "a/b", "Mechanism": 2, "Salt": b"s", "StoredKey": b"k", "ServerKey": b"v"},
        ),
        ("DelegationTokenRecord", {"Owner": "User:x", "Requester": "User:x", "TokenId": "secret"}),
    ),
    provenance={"offset": 9},
    hide=True,
)


def value(path: str) -> object:
    node = find(TREE, path)
    assert isinstance(node, File)
    return node.value


def test_values_are_found_by_their_paths():
    assert value("/image/provenance") == {"offset": 9}
    assert value("/image/features/metadata.version") == 30
    assert value("image/topics/byName/t/id") == str(ID)
    partition = value(f"/image/topics/byId/{ID}/0")
    assert isinstance(partition, dict)
    assert (partition["partitionId"], partition["leader"]) == (0, 1)
    assert value("/image/clientQuotas/user:(default)/k") == 1.5
    assert value("/image/acls/../zkMigration") == 0


def test_secrets_stay_hidden_also_in_names():
    assert value("/image/configs/BROKER:(default)/ssl.key.password") == "<redacted>"
    credential = value("/image/scram/SCRAM-SHA-512/a%2Fb")
    assert isinstance(credential, dict)
    assert credential["storedKey"] == "<redacted>"
    paths = [path for path, _ in walk(TREE, "")]
    assert "/image/delegationToken/tokens/0" in paths
    assert not any("secret" in path for path in paths)


def test_paths_are_resolved():
    assert resolved("/a/./b/../c/") == ["a", "c"]
    assert isinstance(find(TREE, "../.."), Folder)
    with pytest.raises(InputError, match="Did you mean topics") as caught:
        find(TREE, "/image/topisc")
    assert caught.value.id == "no-such-path"
    with pytest.raises(InputError, match="is not a folder"):
        find(TREE, "/image/zkMigration/x")


def test_every_name_leads_somewhere():
    for path, node in walk(TREE, ""):
        assert find(TREE, path) == node or isinstance(node, Folder)
