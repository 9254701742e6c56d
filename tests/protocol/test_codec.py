"""The reference codec against the rules of KIP-482 and of Kafka's definitions, byte by byte."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import pytest

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.compiled import decoder, encoder
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec
from tests.protocol.hand_built import field, spec_of
from tests.protocol.outcomes import outcome


def encoded(spec: MessageSpec, version: int, value: dict[str, Any]) -> str:
    """Return the bytes in hex, which both codecs agree on."""
    data = encode_message(spec, version, value)
    assert encoder(spec, version)(value) == data
    return data.hex()


def decoded(spec: MessageSpec, version: int, data: str) -> dict[str, Any]:
    """Return the value, which both codecs agree on; nothing may be left over."""
    content = bytes.fromhex(data)
    value, end = decode_message(spec, version, content)
    assert decoder(spec, version)(content) == (value, end)
    assert end == len(content)
    return value


def refused(spec: MessageSpec, version: int, data: str) -> DecodeError:
    content = bytes.fromhex(data)
    with pytest.raises(DecodeError) as caught:
        decode_message(spec, version, content, file="f")
    assert outcome(decoder(spec, version), content, file="f") == outcome(
        decode_message, spec, version, content, file="f"
    )
    return caught.value


def unwritable(spec: MessageSpec, version: int, value: Any) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        encode_message(spec, version, value)
    with pytest.raises(EncodeError) as again:
        encoder(spec, version)(value)
    assert (again.value.id, again.value.path) == (caught.value.id, caught.value.path)
    return caught.value


class TestLengths:
    TEXT = spec_of(field("A", "string", nullableVersions="0+"))
    BYTES = spec_of(field("A", "bytes", nullableVersions="0+"))
    ARRAY = spec_of(field("A", "[]int16", nullableVersions="0+"))

    @pytest.mark.parametrize(
        ("spec", "value", "plain", "flexible"),
        [
            (TEXT, "ab", "00026162", "03616200"),
            (TEXT, "", "0000", "0100"),
            (TEXT, None, "ffff", "0000"),
            (BYTES, b"ab", "000000026162", "03616200"),
            (BYTES, None, "ffffffff", "0000"),
            (ARRAY, [1, 2], "0000000200010002", "030001000200"),
            (ARRAY, [], "00000000", "0100"),
            (ARRAY, None, "ffffffff", "0000"),
        ],
    )
    def test_flexible_lengths_are_varints_of_one_more(self, spec: MessageSpec, value: Any, plain: str, flexible: str):
        assert encoded(spec, 0, {"A": value}) == plain
        assert encoded(spec, 1, {"A": value}) == flexible
        assert decoded(spec, 0, plain) == {"A": value}
        assert decoded(spec, 1, flexible) == {"A": value}

    def test_negative_lengths_but_null_are_refused(self):
        error = refused(self.TEXT, 0, "fffe")
        assert (error.id, error.offset, error.path) == ("invalid-length", 0, "Sample.A")
        assert refused(self.ARRAY, 0, "80000000").id == "invalid-length"

    @pytest.mark.parametrize(("spec", "plain"), [(TEXT, "0003"), (BYTES, "7fffffff"), (ARRAY, "7fffffff")])
    def test_lengths_beyond_the_data_are_refused(self, spec: MessageSpec, plain: str):
        assert refused(spec, 0, plain + "6162").id == "length-exceeds-data"
        assert refused(spec, 1, "feffffff07" + "6162").id in {"length-exceeds-data", "string-too-long"}

    def test_text_of_32767_bytes_is_the_longest(self):
        longest = "x" * 32767
        assert decoded(self.TEXT, 1, encoded(self.TEXT, 1, {"A": longest})) == {"A": longest}
        assert unwritable(self.TEXT, 1, {"A": longest + "x"}).id == "string-too-long"
        assert unwritable(self.TEXT, 0, {"A": longest + "x"}).id == "string-too-long"
        assert refused(self.TEXT, 1, "818002" + "78" * 32768 + "00").id == "string-too-long"

    def test_long_arrays_and_texts_take_longer_lengths(self):
        value = {"A": list(range(200))}
        assert encoded(self.ARRAY, 1, value).startswith("c901")
        assert decoded(self.ARRAY, 1, encoded(self.ARRAY, 1, value)) == value


class TestNull:
    SPEC = spec_of(field("A", "string", nullableVersions="2+", default="x"))

    def test_null_needs_a_version_that_allows_it(self):
        assert decoded(self.SPEC, 2, "0000") == {"A": None}
        error = refused(self.SPEC, 1, "0000")
        assert (error.id, error.path) == ("null-not-allowed", "Sample.A")
        assert refused(self.SPEC, 0, "ffff").id == "null-not-allowed"
        assert unwritable(self.SPEC, 1, {"A": None}).id == "null-not-allowed"

    def test_nullable_struct_is_led_by_a_byte(self):
        spec = spec_of(field("S", "Inner", nullableVersions="2+", fields=[field("N", "int8")]), flexible="1+")
        assert encoded(spec, 1, {"S": {"N": 5}}) == "050000"
        assert encoded(spec, 2, {"S": {"N": 5}}) == "01050000"
        assert encoded(spec, 2, {"S": None}) == "ff00"
        assert decoded(spec, 2, "ff00") == {"S": None}
        assert decoded(spec, 2, "01050000") == {"S": {"N": 5}}
        assert unwritable(spec, 1, {"S": None}).id == "value-of-wrong-type"

    @pytest.mark.parametrize("version", [0, 1])
    @pytest.mark.parametrize("kind", ["string", "bytes"])
    def test_array_that_may_be_null_has_no_null_in_it(self, version: int, kind: str):
        spec = spec_of(field("A", f"[]{kind}", nullableVersions="0+"))
        assert unwritable(spec, version, {"A": [None]}).id == "null-not-allowed"

    def test_elements_of_an_array_are_never_null(self):
        spec = spec_of(field("A", "[]string", nullableVersions="0+"))
        error = refused(spec, 1, "0300")
        assert (error.id, error.path) == ("length-exceeds-data", "Sample.A")
        error = refused(spec, 1, "02000000")
        assert (error.id, error.path) == ("null-not-allowed", "Sample.A[0]")


class TestVersions:
    SPEC = spec_of(
        field("Old", "int8", "0-1", default="7"),
        field("New", "int16", "2+", default="-1"),
        field("Soft", "string", "2+", ignorable=True),
    )

    def test_field_that_a_version_lacks_holds_its_default(self):
        assert decoded(self.SPEC, 0, "05") == {"Old": 5, "New": -1, "Soft": ""}
        assert decoded(self.SPEC, 3, "0005026100") == {"Old": 7, "New": 5, "Soft": "a"}

    def test_value_that_a_version_cannot_carry_is_refused(self):
        error = unwritable(self.SPEC, 0, {"New": 3})
        assert (error.id, error.path) == ("field-not-in-version", "Sample.New")
        assert unwritable(self.SPEC, 2, {"Old": 0}).id == "field-not-in-version"

    def test_ignorable_value_is_dropped(self):
        assert encoded(self.SPEC, 0, {"Old": 5, "Soft": "gone"}) == "05"

    def test_struct_or_array_that_a_version_lacks_must_be_at_its_default(self):
        spec = spec_of(
            field("S", "Inner", "2+", fields=[field("N", "int8", "2+", default="3"), field("L", "[]int8", "2+")]),
            field("A", "[]int8", "2+"),
        )
        for default in ({}, {"S": {}}, {"S": {"N": 3}}, {"S": {"N": 3, "L": []}, "A": []}, {"A": ()}):
            assert encoded(spec, 0, default) == ""
        for other in ({"S": {"N": 4}}, {"S": {"L": [1]}}, {"A": [1]}, {"A": None}, {"S": None}, {"S": {"M": 1}}):
            assert unwritable(spec, 0, other).id == "field-not-in-version"

    def test_id_that_a_version_lacks_must_be_zero(self):
        spec = spec_of(field("A", "uuid", "2+"))
        assert encoded(spec, 0, {"A": ZERO_UUID}) == ""
        assert unwritable(spec, 0, {"A": Uuid(bytes(range(16)))}).id == "field-not-in-version"

    def test_unknown_version_is_refused(self):
        error = refused(self.SPEC, 4, "00")
        assert (error.id, error.reason) == ("unsupported-message-version", "version 4 is not known; expected 0-3")
        assert unwritable(self.SPEC, -1, {}).id == "unsupported-message-version"


class TestTaggedFields:
    SPEC = spec_of(
        field("A", "int8"),
        field("T0", "string", "1+", taggedVersions="1+", tag=0, nullableVersions="1+", default="null"),
        field("T1", "int32", "1+", taggedVersions="1+", tag=1, default="-1"),
        field("T2", "[]int8", "2+", taggedVersions="2+", tag=2),
    )

    def test_defaults_are_not_written(self):
        assert encoded(self.SPEC, 1, {"A": 1}) == "0100"
        assert encoded(self.SPEC, 1, {"A": 1, "T0": None, "T1": -1}) == "0100"
        assert decoded(self.SPEC, 1, "0100") == {"A": 1, "T0": None, "T1": -1, "T2": []}

    def test_others_are_written_with_tag_and_size_in_ascending_order(self):
        value = {"A": 1, "T0": "x", "T1": 2, "T2": [3]}
        assert encoded(self.SPEC, 2, value) == "01" + "03" + "0002" + "0278" + "0104" + "00000002" + "0202" + "0203"
        assert decoded(self.SPEC, 2, encoded(self.SPEC, 2, value)) == value

    def test_unknown_ones_are_kept_and_written_in_their_place(self):
        data = "01" + "03" + "0002" + "0278" + "0301" + "ff" + "c8010261" + "62"
        value = decoded(self.SPEC, 2, data)
        assert value["_tags"] == {3: b"\xff", 200: b"ab"}
        assert encoded(self.SPEC, 2, value) == data

    def test_one_that_a_version_lacks_is_refused_as_kafka_does(self):
        error = refused(self.SPEC, 1, "01" + "01" + "0202" + "0203")
        assert (error.id, error.path) == ("tag-not-in-version", "Sample.T2")
        assert unwritable(self.SPEC, 1, {"T2": [1]}).id == "field-not-in-version"
        assert unwritable(self.SPEC, 1, {"_tags": {2: b""}}).id == "tag-is-defined"

    @pytest.mark.parametrize("tags", ["02" + "0502aaaa" + "0301ff", "02" + "0301ff" + "0301ff"])
    def test_tags_must_ascend(self, tags: str):
        assert refused(self.SPEC, 1, "01" + tags).id == "tags-out-of-order"

    def test_tagged_field_must_fill_its_size(self):
        error = refused(self.SPEC, 1, "01" + "01" + "0105" + "0000000200")
        assert (error.id, error.offset, error.path) == ("tagged-field-size", 8, "Sample.T1")

    def test_tagged_field_may_not_read_beyond_its_size(self):
        error = refused(self.SPEC, 1, "01" + "01" + "0103" + "00000002")
        assert (error.id, error.offset, error.path) == ("truncated-data", 4, "Sample.T1")
        error = refused(self.SPEC, 1, "01" + "01" + "0002" + "0461626300")
        assert (error.id, error.path) == ("length-exceeds-data", "Sample.T0")

    def test_counts_and_sizes_beyond_the_data_are_refused(self):
        assert refused(self.SPEC, 1, "01" + "7f").id == "length-exceeds-data"
        assert refused(self.SPEC, 1, "01" + "01" + "0905ff").id == "length-exceeds-data"

    def test_tag_of_32_bits_is_refused(self):
        assert refused(self.SPEC, 1, "01" + "01" + "ffffffff0f" + "00").id == "invalid-tag"
        for tag in (-1, 2**31, "3", 1.0):
            assert unwritable(self.SPEC, 1, {"_tags": {tag: b""}}).id == "invalid-tag"

    def test_version_that_is_not_flexible_has_none(self):
        assert unwritable(self.SPEC, 0, {"_tags": {9: b""}}).id == "tags-not-in-version"
        assert encoded(self.SPEC, 0, {"A": 1, "_tags": {}}) == "01"

    def test_structs_can_be_tagged(self):
        inner = [field("E", "int32", "1+", default="-1"), field("L", "[]int8", "1+")]
        spec = spec_of(field("S", "Inner", "1+", taggedVersions="1+", tag=0, fields=inner))
        for default in ({}, {"S": {}}, {"S": {"E": -1, "L": ()}}, {"S": {"E": -1, "L": [], "_tags": {}}}):
            assert encoded(spec, 1, default) == "00"
        assert encoded(spec, 1, {"S": {"E": 5}}) == "01" + "0006" + "000000050100"
        assert encoded(spec, 1, {"S": {"_tags": {9: b"x"}}}) == "01" + "0009" + "ffffffff" + "01" + "01" + "090178"
        assert unwritable(spec, 1, {"S": {"X": 1}}).id == "no-such-field"
        assert unwritable(spec, 1, {"S": None}).id == "value-of-wrong-type"


class TestHostile:
    def test_structs_without_content_cannot_multiply(self):
        # A count of such structs costs nothing to claim; without a ration the work grows with the square.
        empty = field("E", "[]Empty", "0", fields=[field("N", "int8", "1+")])
        spec = spec_of(field("Outer", "[]Row", "0", fields=[empty]), valid="0-1", flexible="none")
        rows = 2000
        data = (rows.to_bytes(4, "big") + (rows * 4).to_bytes(4, "big") * rows).hex()
        assert refused(spec, 0, data).id == "length-exceeds-data"

    def test_few_structs_without_content_are_read(self):
        empty = field("E", "[]Empty", "0", fields=[field("N", "int8", "1+")])
        spec = spec_of(empty, field("Rest", "int32"), valid="0-1", flexible="none")
        assert decoded(spec, 0, "0000000300000009") == {"E": [{"N": 0}] * 3, "Rest": 9}

    def test_count_of_structs_is_weighed_by_their_least_size(self):
        row = [field("Id", "uuid"), field("Name", "string")]
        spec = spec_of(field("Rows", "[]Row", fields=row))
        error = refused(spec, 1, "06" + "00" * 80)
        assert (error.id, error.path) == ("length-exceeds-data", "Sample.Rows")

    @pytest.mark.parametrize("kind", ["uuid", "int8", "int64", "string", "bytes"])
    def test_nothing_is_made_for_a_count_that_is_only_claimed(self, kind: str):
        spec = spec_of(field("A", f"[]{kind}"))
        data = (5_000_000).to_bytes(4, "big") + bytes(100)
        for decode in (decoder(spec, 0), lambda content: decode_message(spec, 0, content)):
            tracemalloc.start()
            with pytest.raises(DecodeError):
                decode(data)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 50_000

    def test_deep_paths_and_offsets_are_reported(self):
        spec = message("VotersRecord")
        good = encode_message(spec, 0, {"Voters": [{"Endpoints": [{"Name": "N", "Host": "h"}]}]})
        at = good.index(b"h")
        with pytest.raises(DecodeError) as caught:
            decode_message(spec, 0, good[:at] + b"\xff" + good[at + 1 :], file="x.checkpoint", base=100)
        error = caught.value
        assert (
            str(error)
            == f"x.checkpoint, byte {100 + at}, VotersRecord.Voters[0].Endpoints[0].Host: not UTF-8: invalid start byte"
        )


class TestOddities:
    def test_request_headers_client_id_stays_plain_in_flexible_versions(self):
        spec = spec_of(field("ClientId", "string", flexibleVersions="none"), field("B", "string"))
        assert encoded(spec, 1, {"ClientId": "ab", "B": "c"}) == "00026162" + "0263" + "00"
        assert decoded(spec, 1, "00026162" + "0263" + "00") == {"ClientId": "ab", "B": "c"}

    def test_every_primitive_is_decoded_in_an_array(self):
        kinds = {
            "bool": [True, False], "int8": [-1], "int16": [-1], "uint16": [65535], "int32": [-1], "int64": [-1],
            "float64": [0.5], "uuid": [ZERO_UUID, Uuid(bytes(range(16)))], "string": ["a", ""], "bytes": [b"", b"a"],
        }  # fmt: skip
        for kind, values in kinds.items():
            spec = spec_of(field("A", f"[]{kind}"))
            for version in (0, 1):
                assert decoded(spec, version, encoded(spec, version, {"A": values})) == {"A": values}

    def test_nan_keeps_its_bits(self):
        spec = spec_of(field("F", "float64"))
        for data in ("7ff8000000000001", "fff0000000000001"):
            value = decoded_nan(spec, data)
            assert math.isnan(value["F"])
            assert encode_message(spec, 0, value).hex() == data

    def test_uuids_are_decoded_as_uuids(self):
        spec = message("TopicRecord")
        topic_id = Uuid(bytes(range(16)))
        value = decoded(spec, 0, encoded(spec, 0, {"Name": "t", "TopicId": topic_id}))
        assert value == {"Name": "t", "TopicId": topic_id}
        assert hash(value["TopicId"]) == hash(topic_id)
        assert str(value["TopicId"]) == str(topic_id)

    def test_value_of_another_type_is_refused(self):
        spec = spec_of(field("A", "int8"))
        for value in (None, [], "text", 5):
            assert unwritable(spec, 0, value).id == "value-of-wrong-type"


def decoded_nan(spec: MessageSpec, data: str) -> dict[str, Any]:
    content = bytes.fromhex(data)
    fast, slow = decoder(spec, 0)(content)[0], decode_message(spec, 0, content)[0]
    assert encoder(spec, 0)(fast) == encode_message(spec, 0, slow)
    return fast
