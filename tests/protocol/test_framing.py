"""Framing: what goes out byte by byte, and that nothing but the right answer comes in."""

from __future__ import annotations

import itertools
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError, EncodeError, UnreachableError
from kafkactl.protocol.api_versions import next_version, node_versions, request_body, usable_version
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.framing import Framing
from kafkactl.protocol.headers import request_header_version, response_header_version
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import Versions


def framing(**changed: Any) -> Framing:
    return Framing(**{"client_id": "me", "peer": "n1:9092"} | changed)


def answered(name: str, version: int, body: dict[str, Any], *, correlation_id: int = 0, tail: bytes = b"") -> bytes:
    """Return a response as a server writes it, headers by hand."""
    spec = message(f"{name}Response")
    flexible = spec.is_flexible(version) and name != "ApiVersions"
    content = struct.pack(">i", correlation_id) + (b"\0" if flexible else b"") + encode_message(spec, version, body)
    content += tail
    return struct.pack(">i", len(content)) + content


CLUSTER = {"ClusterId": "abc", "ControllerId": 3, "Brokers": []}


class TestSending:
    def test_inflexible_request_has_the_old_header(self) -> None:
        data = framing().send("ApiVersions", 0, {})
        # size 12, key 18, version 0, correlation id 0, client id of 2 bytes
        assert data.hex() == "0000000c" + "0012" + "0000" + "00000000" + "0002" + "6d65"

    def test_flexible_request_has_a_plain_client_id_and_a_tag_section(self) -> None:
        data = framing(client_id=None).send("DescribeCluster", 1, {"EndpointType": 2})
        # key 60, version 1, correlation id 0, client id null, no tags | no operations, endpoint type 2, no tags
        assert data.hex() == "0000000e" + "003c" + "0001" + "00000000" + "ffff" + "00" + "00" + "02" + "00"

    def test_correlation_ids_are_increasing(self) -> None:
        conversation = framing()
        sent = [conversation.send("ApiVersions", 0, {}) for _ in range(3)]
        assert [struct.unpack(">i", data[8:12])[0] for data in sent] == [0, 1, 2]

    def test_unknown_version_is_refused_and_costs_no_correlation_id(self) -> None:
        conversation = framing()
        with pytest.raises(EncodeError) as caught:
            conversation.send("DescribeCluster", 99, {})
        assert caught.value.id == "unsupported-message-version"
        assert conversation.send("ApiVersions", 0, {})[8:12] == bytes(4)

    @pytest.mark.parametrize(
        ("name", "version", "headers"),
        [
            ("ApiVersions", 2, (1, 0)),
            ("ApiVersions", 4, (2, 0)),
            ("DescribeCluster", 0, (2, 1)),
            ("SaslHandshake", 1, (1, 0)),
            ("SaslAuthenticate", 1, (1, 0)),
            ("SaslAuthenticate", 2, (2, 1)),
            ("Fetch", 11, (1, 0)),
            ("Fetch", 12, (2, 1)),
        ],
    )
    def test_header_versions_are_as_specified(self, name: str, version: int, headers: tuple[int, int]) -> None:
        request, response = message(f"{name}Request"), message(f"{name}Response")
        assert (request_header_version(request, version), response_header_version(response, version)) == headers


class TestReceiving:
    @given(cuts=st.lists(st.integers(0, 60), max_size=6))
    def test_cut_anywhere_the_answers_are_the_same(self, cuts: list[int]) -> None:
        conversation = framing()
        conversation.send("DescribeCluster", 0, {})
        conversation.send("DescribeCluster", 0, {})
        wire = answered("DescribeCluster", 0, CLUSTER)
        wire += answered("DescribeCluster", 0, CLUSTER | {"ControllerId": 4}, correlation_id=1)
        places = sorted({0, len(wire), *(cut for cut in cuts if cut < len(wire))})
        got = [
            response for start, end in itertools.pairwise(places) for response in conversation.receive(wire[start:end])
        ]
        assert [(response.correlation_id, response.body["ControllerId"]) for response in got] == [(0, 3), (1, 4)]
        assert not conversation.has_part_of_response

    def test_api_versions_answers_unsupported_version_in_version_0(self) -> None:
        conversation = framing()
        conversation.send("ApiVersions", 4, request_body("1.0"))
        refusal = {"ErrorCode": 35, "ApiKeys": [{"ApiKey": 18, "MinVersion": 0, "MaxVersion": 3}]}
        (answer,) = conversation.receive(answered("ApiVersions", 0, refusal))
        assert (answer.version, answer.body["ApiKeys"][0]["MaxVersion"]) == (0, 3)

    def test_errors_of_other_kinds_stay_in_the_version_asked(self) -> None:
        conversation = framing()
        conversation.send("ApiVersions", 3, request_body("1.0"))
        (answer,) = conversation.receive(answered("ApiVersions", 3, {"ErrorCode": 42}))
        assert (answer.version, answer.body["ErrorCode"]) == (3, 42)

    @pytest.mark.parametrize(
        ("wire", "error_id"),
        [
            (answered("DescribeCluster", 0, CLUSTER, correlation_id=7), "correlation-id-mismatch"),
            (answered("DescribeCluster", 0, CLUSTER, tail=b"\0"), "trailing-bytes"),
            (answered("DescribeCluster", 0, CLUSTER)[:4] + b"\0" * 39, "null-not-allowed"),
            (b"\0\0\0\3abc", "invalid-response-size"),
            (b"\xff\xff\xff\xff", "invalid-response-size"),
            (b"HTTP/1.1 400 Bad Request\r\n", "response-too-large"),
            (b"\x15\x03\x03\x00\x02\x02\x46", "response-too-large"),
            (b"\0\0\0\4\0\0\0\0", "truncated-data"),
        ],
    )
    def test_invalid_answer_ends_the_conversation(self, wire: bytes, error_id: str) -> None:
        conversation = framing()
        conversation.send("DescribeCluster", 0, {})
        for attempt in (wire, b""):
            with pytest.raises(DecodeError) as caught:
                conversation.receive(attempt)
            assert caught.value.id == error_id
            assert caught.value.file == "n1:9092"
        with pytest.raises(DecodeError):
            conversation.send("DescribeCluster", 0, {})

    def test_second_answer_to_one_request_is_refused(self) -> None:
        conversation = framing()
        conversation.send("DescribeCluster", 0, {})
        wire = answered("DescribeCluster", 0, CLUSTER)
        assert len(conversation.receive(wire)) == 1
        with pytest.raises(DecodeError) as caught:
            conversation.receive(wire)
        assert caught.value.id == "unexpected-response"

    def test_good_answer_is_not_lost_to_what_follows_it(self) -> None:
        conversation = framing()
        conversation.send("DescribeCluster", 0, {})
        wire = answered("DescribeCluster", 0, CLUSTER)
        assert len(conversation.receive(wire + wire)) == 1
        assert conversation.broken is not None
        with pytest.raises(DecodeError) as caught:
            conversation.receive(b"")
        assert caught.value.id == "unexpected-response"

    def test_size_is_judged_before_the_rest_has_come(self) -> None:
        conversation = framing(max_response_bytes=100)
        conversation.send("DescribeCluster", 0, {})
        with pytest.raises(DecodeError) as caught:
            conversation.receive(struct.pack(">i", 101))
        assert caught.value.id == "response-too-large"

    @given(st.binary(max_size=200))
    def test_garbage_is_refused_or_waited_for_and_never_anything_else(self, garbage: bytes) -> None:
        conversation = framing(max_response_bytes=1000)
        conversation.send("ApiVersions", 3, request_body("1.0"))
        try:
            answers = conversation.receive(garbage)
        except DecodeError as error:
            assert error.file == "n1:9092"
        else:
            assert len(answers) <= 1


class TestNegotiation:
    @pytest.mark.parametrize(
        ("asked", "offered", "expected"),
        [(4, [(18, 0, 3)], 3), (4, [(18, 0, 2)], 2), (4, [], 0), (3, [(1, 0, 9)], 0)],
    )
    def test_next_version_is_chosen_from_the_offer(
        self, asked: int, offered: list[tuple[int, int, int]], expected: int
    ) -> None:
        keys = [{"ApiKey": key, "MinVersion": low, "MaxVersion": high} for key, low, high in offered]
        assert next_version(asked, {"ErrorCode": 35, "ApiKeys": keys}, peer="n") == expected

    @pytest.mark.parametrize("offered", [(0, 4), (5, 9)])
    def test_offer_without_a_common_version_is_refused(self, offered: tuple[int, int]) -> None:
        keys = [{"ApiKey": 18, "MinVersion": offered[0], "MaxVersion": offered[1]}]
        with pytest.raises(UnreachableError) as caught:
            next_version(4, {"ErrorCode": 35, "ApiKeys": keys}, peer="n")
        assert caught.value.id == "no-common-version"

    def test_tagged_features_are_read(self) -> None:
        body = {
            "ErrorCode": 0,
            "ApiKeys": [{"ApiKey": 60, "MinVersion": 0, "MaxVersion": 1}],
            "SupportedFeatures": [{"Name": "kraft.version", "MinVersion": 0, "MaxVersion": 1}],
            "FinalizedFeaturesEpoch": 12,
            "FinalizedFeatures": [{"Name": "metadata.version", "MaxVersionLevel": 21, "MinVersionLevel": 21}],
            "ZkMigrationReady": True,
        }
        wire = encode_message(message("ApiVersionsResponse"), 4, body)
        node = node_versions(4, decode_message(message("ApiVersionsResponse"), 4, wire)[0])
        assert node.supported == {"kraft.version": Versions(0, 1)}
        assert (node.finalized, node.finalized_epoch) == ({"metadata.version": 21}, 12)
        assert node.zookeeper_migration_ready
        assert not node.hides_features
        assert usable_version(message("DescribeClusterRequest"), node, peer="n") == 1

    @pytest.mark.parametrize(
        ("keys", "error_id"), [([], "request-not-supported"), ([(60, 90, 99)], "no-common-version")]
    )
    def test_request_without_a_common_version_is_refused(self, keys: list[tuple[int, int, int]], error_id: str) -> None:
        ranges = [{"ApiKey": key, "MinVersion": low, "MaxVersion": high} for key, low, high in keys]
        node = node_versions(3, {"ApiKeys": ranges, "SupportedFeatures": [], "FinalizedFeatures": []}
                             | {"FinalizedFeaturesEpoch": -1, "ZkMigrationReady": False})  # fmt: skip
        assert node.hides_features
        with pytest.raises(UnreachableError) as caught:
            usable_version(message("DescribeClusterRequest"), node, peer="n")
        assert caught.value.id == error_id
        assert " DescribeCluster" in caught.value.message and "DescribeClusterRequest" not in caught.value.message
