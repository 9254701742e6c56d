"""Text as Java and Kafka read it: java.util.Properties, numbers, hosts, voters, SCRAM arguments, meta.properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.cluster.quorum.voters import hash_order, parse_voters, socket_host
from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.findings import blockers
from kafkactl.core.values import Uuid
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.text.java_text import (
    LONG_BITS,
    date_text,
    decode_base64,
    parse_double,
    parse_int,
    split_at,
    split_list,
    trim,
)
from kafkactl.protocol.text.meta_properties import parse_meta_properties, render_meta_properties
from kafkactl.protocol.text.properties import parse_properties, render_property
from kafkactl.storage.format.cluster_id import check_cluster_id
from kafkactl.storage.format.scram import parse_scram
from tests.lab.harness import releases
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.oracles.inputs import InputOracle
from tests.lab.storage.config_variants import Variant

ID = "JEXY6aqzQY-32P5TStzaFg"
PIECES = [
    "a",
    "b",
    "=",
    ":",
    " ",
    "\t",
    "\f",
    "\\",
    "\n",
    "\r",
    "\r\n",
    "#",
    "!",
    "\\u0041",
    "\\u",
    "\\uD83D",
    "\\uDE00",
]
PIECES += ["é", "\\\n", "\\\r\n", "\0", "\\n", "k"]


@pytest.fixture(scope="module")
def oracle(lab_pool: Pool) -> Iterator[InputOracle]:
    with InputOracle(releases.NEWEST, pool=lab_pool) as opened:
        yield opened


def hex8(text: str) -> str:
    return text.encode("utf-8").hex()


def hex16(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex() + ("" if text else "-")


def or_none(read: Callable[[], object]) -> object:
    try:
        return read()
    except (InputError, DecodeError):
        return None


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_properties_are_read_as_java_reads_them(oracle: InputOracle, text: str):
    data = text.encode("latin-1")
    properties = or_none(lambda: parse_properties(data).mapping)
    ours = None
    if isinstance(properties, dict):
        keys = sorted(properties, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        ours = " ".join(f"{hex16(key)}={hex16(properties[key])}" for key in keys)
    assert oracle.about("properties", data) == ours


@given(st.binary(max_size=40))
def test_bytes_are_read_as_java_reads_them(oracle: InputOracle, data: bytes):
    properties = parse_properties(data).mapping if b"\\u" not in data else {}
    theirs = oracle.about("properties", data) if b"\\u" not in data else ""
    keys = sorted(properties, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    assert theirs == " ".join(f"{hex16(key)}={hex16(properties[key])}" for key in keys)


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8), st.text(max_size=8))
def test_properties_are_written_as_java_writes_them(oracle: InputOracle, key: str, value: str):
    key = key.replace("\0", "0")
    for question, ascii_only in (("store-bytes", True), ("store-text", False)):
        line = render_property(key, value, ascii_only=ascii_only)
        assert oracle.about(question, f"{key}\0{value}") == hex8(line)


NUMBERS = st.one_of(
    st.text(st.sampled_from("0123456789+-_ .eEdDfFxXpP٣NanIifty"), max_size=8),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.floats().map(lambda number: number.hex()),
)


@given(NUMBERS)
def test_numbers_are_parsed_as_by_kafka(oracle: InputOracle, text: str):
    for question, bits in (("int", 32), ("long", LONG_BITS), ("short", 16)):
        number = parse_int(text, bits)
        assert oracle.about(question, text) == (None if number is None else str(number))


@given(NUMBERS)
def test_doubles_are_parsed_as_by_java(oracle: InputOracle, text: str):
    theirs, ours = oracle.about("double", text), parse_double(text)
    if theirs in ("NaN", "Infinity", "-Infinity") or theirs is None or ours is None:
        assert str(theirs).lower().replace("infinity", "inf") == str(ours).lower()
    else:
        assert float.fromhex(theirs) == ours


@given(st.text(st.sampled_from("ab, \t\n\x0b\x00\u00a0\u3000"), max_size=10))
def test_text_is_trimmed_and_split_as_by_kafka(oracle: InputOracle, text: str):
    assert oracle.about("trim", text) == hex8(trim(text))
    assert oracle.about("split", text) == f"[{', '.join(map(hex8, split_at(text, ',')))}]"
    if trim(text):  # Kafka asks that first
        assert oracle.about("list", text) == f"[{', '.join(map(hex8, split_list(text)))}]"


@given(st.text(st.sampled_from("ABQg0-_+/= "), max_size=25))
def test_base64_and_uuids_are_decoded_as_by_kafka(oracle: InputOracle, text: str):
    decoded = decode_base64(text)
    assert oracle.about("base64", text) == (None if decoded is None else decoded.hex())
    uuid = or_none(lambda: Uuid.parse(text))
    assert oracle.about("uuid", text) == (None if uuid is None else str(uuid))


@given(st.integers(-(2**43), 2**47))
def test_dates_are_written_as_by_kafka(oracle: InputOracle, now_ms: int):
    assert oracle.about("date", str(now_ms)) == hex8(date_text(now_ms))


@given(st.sets(st.integers(0, 2**31 - 1) | st.integers(0, 200), min_size=1, max_size=60))
def test_voters_are_ordered_as_by_kafka(oracle: InputOracle, node_ids: set[int]):
    ascending = ",".join(map(str, sorted(node_ids)))
    assert oracle.about("hash-order", ascending) == str(hash_order(node_ids))


HOSTS = ["", "a.b", "::1", "1", "127.1", "010.1.1.1", "1.2.3", "256.1.1.1", "1.2.3.4.5", "::ffff:1.2.3.4", "fe80::1%1"]
HOSTS += [
    "1:2",
    "2001:DB8::A",
    "4294967295",
    "4294967296",
    "1.16777216",
    "1..2",
    "::ffff:0:0",
    "::1.2.3.4",
    "1::",
    "::",
]


@pytest.mark.parametrize("host", HOSTS)
def test_hosts_are_parsed_as_by_kafka(oracle: InputOracle, host: str):
    assert oracle.about("socket-host", host) == hex8(socket_host(host))


OCTETS = st.integers(0, 255).map(str)
ADDRESSES = st.one_of(  # literals only: Java would ask a name server for anything else
    st.ip_addresses(v=6).map(str),
    st.ip_addresses(v=6).map(lambda address: address.exploded.upper()),
    st.ip_addresses(v=4).map(lambda address: f"::FFFF:{address}"),
    st.integers(0, 2**32 - 1).map(str),
    st.tuples(OCTETS, st.integers(0, 2**24 - 1).map(str)).map(".".join),
    st.tuples(OCTETS, OCTETS, st.integers(0, 2**16 - 1).map(str)).map(".".join),
    st.tuples(OCTETS, OCTETS, OCTETS, OCTETS.map(lambda octet: octet.zfill(3))).map(".".join),
)


@given(ADDRESSES)
def test_addresses_are_parsed_as_by_kafka(oracle: InputOracle, host: str):
    assert oracle.about("socket-host", host) == hex8(socket_host(host))


VOTERS = st.lists(st.sampled_from(["1", "2", "-", "@", "a", ":", "[", "]", "::1", "9093", ",", " ", ID, f"1@a:1:{ID}"]))


@given(VOTERS.map("".join))
def test_voters_are_parsed_as_by_kafka(oracle: InputOracle, text: str):
    answer = oracle.said("voters", text)
    if answer.startswith("OK"):
        assert answer == f"OK {hex8(','.join(map(str, parse_voters(text))))}"
        return
    with pytest.raises(InputError) as caught:
        parse_voters(text)
    assert answer.partition(": ")[2] in caught.value.message


@given(VOTERS.map(lambda pieces: f"1@{''.join(pieces)}"))
def test_one_voter_is_parsed_as_by_kafka(oracle: InputOracle, text: str):
    test_voters_are_parsed_as_by_kafka.hypothesis.inner_test(oracle, text)  # type: ignore[attr-defined]


SCRAM = ["SCRAM-SHA-256", "=", "[", "]", "name=a", ",", "password=p", '"', "salt=N3E=", "saltedpassword=cA==", " "]
SCRAM += ["iterations=4096", "iterations=5", "x=y", "password=", "name=", "salt=%", "b"]


@given(st.lists(st.sampled_from(SCRAM), max_size=10).map("".join), st.booleans())
def test_scram_arguments_are_parsed_as_by_3_9_and_later(oracle: InputOracle, text: str, whole: bool):
    argument = f"SCRAM-SHA-512=[name=u,salt=c2FsdA==,{text}]" if whole else text
    answer = oracle.about("scram", argument)
    found = or_none(lambda: parse_scram(argument, release=find_release("4.4"), salt=b"new"))
    if found is None or answer is None:
        assert (answer, found) == (None, None)
        return
    record = found.record_value()  # type: ignore[attr-defined]
    shown = f"{hex8(record['Name'])} {record['Mechanism']} {record['Iterations']}".strip()
    if record["Salt"] != b"new":  # else Kafka made one of its own
        shown += f" {record['Salt'].hex()} {record['StoredKey'].hex()} {record['ServerKey'].hex()}"
    assert answer.startswith(shown.replace("  ", " ")) or shown in answer


META = [
    "version=1",
    "version= 1 ",
    "version=0",
    "version=2",
    "version=x",
    "node.id=3",
    "node.id=3 ",
    "node.id=+3",
    "node.id=x",
]
META += [
    "broker.id=4",
    "broker.id=",
    "cluster.id=c",
    "cluster.id=",
    f"directory.id={ID}",
    "directory.id=x",
    "a=\\u1",
    "#x",
]


@given(st.lists(st.sampled_from(META), max_size=6))
def test_meta_properties_are_read_as_by_kafka(oracle: InputOracle, lines: list[str]):
    data = "\n".join(lines).encode()
    answer = oracle.about("meta-properties", data)
    try:
        read = parse_meta_properties(data)
    except DecodeError:
        assert answer is None
        return
    cluster_id = "none" if read.cluster_id is None else hex8(read.cluster_id)
    node_id = "OptionalInt.empty" if read.stored_id is None else f"OptionalInt[{read.stored_id}]"
    directory_id = "Optional.empty" if read.directory_id is None else f"Optional[{read.directory_id}]"
    assert answer == f"V{read.version} {cluster_id} {node_id} {directory_id}"


def formatted(tool: StorageToolServer, release: str, folder: Path, *arguments: str) -> Path | None:
    """Return the log directory that Kafka's tool formats for a broker, None if it refuses."""
    folder.mkdir(parents=True)
    config, log_dir = folder / "server.properties", folder / "data"
    config.write_text(Variant("broker").render(release, str(log_dir)))
    result = tool.run(release, ["format", "-c", config, *arguments])
    return log_dir if result.exit_code == 0 else None


CLUSTER_IDS = [
    "XgM8cvG1S-mQ3k4wGhkVpQ", "XgM8cvG1S-mQ3k4wGhkVpR", "XgM8cvG1S-mQ3k4wGhkVpQ==", "-gM8cvG1S-mQ3k4wGhkVpQ",
    "my-cluster", "", " a:b=c#d!e\\f ", "AAAAAAAAAAAAAAAAAAAAAA", "a" * 23, "XgM8cvG1S-mQ3k4wGhkVp",
]  # fmt: skip


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_meta_properties_equal_those_of_kafka_byte_for_byte(
    storage_tool: StorageToolServer, tmp_path: Path, release: str
):
    # The date line apart, which is compared as a line of the same shape.
    row = find_release(release)
    for number, text in enumerate(CLUSTER_IDS):
        log_dir = formatted(storage_tool, release, tmp_path / str(number), f"--cluster-id={text}")
        checked = check_cluster_id(text, row)
        assert (log_dir is None) == bool(blockers(checked.findings)), text
        if log_dir is None:
            continue
        theirs = (log_dir / "meta.properties").read_bytes()
        read = parse_meta_properties(theirs)
        assert read.cluster_id == checked.stored
        ours = render_meta_properties(
            layout=row.layout, cluster_id=checked.stored, node_id=2, directory_id=read.directory_id, now_ms=0
        )
        assert _without_date(ours) == _without_date(theirs)
        assert [len(data.splitlines()[1]) for data in (ours, theirs)] == [29, 29]


def _without_date(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return [lines[0], *lines[2:]]


OLD_SCRAM = [
    'SCRAM-SHA-256=[name=alice,password=alice-secret,salt="N3E=",iterations=4096]',
    "SCRAM-SHA-512=[name=bob,password=päss,salt=c2FsdA==,iterations=16384]",
    "SCRAM-SHA-256=[name=a,password=ab cd,salt=N3E,iterations=4096]",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=ab cd]",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=ab=cd]",
    'SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password="ab=cd"]',
    'SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=a"b"c]',
    'SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password="bc]',
    "SCRAM-SHA-256={name=a,salt=N3E,iterations=4096,password=b}",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=b,x=y]",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,saltedpassword=cA==]",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,saltedpassword=cA==,password=b]",
    "SCRAM-SHA-256=[name=a,saltedpassword=cA==]",
    "SCRAM-SHA-256=[name=a,salt=N3E,password=b]",
    "SCRAM-SHA-256=[name=a,salt=,iterations=4096,password=b]",
    'SCRAM-SHA-256=[name="",salt="",iterations=4096,password=b]',
    "SCRAM-SHA-256=[name=,salt=N3E,iterations=4096,password=b]",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=]",
    'SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=""]',
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4095,password=b]",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=16385,password=b]",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=many,password=b]",
    "SCRAM-SHA-256=[name=a, salt=N3E,iterations=4096,password=b]",
    " SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=b]",
    "SCRAM-SHA-256=[name=a,name=b,salt=N3E,iterations=4096,password=b]",
    "SCRAM-SHA-1=[name=a,salt=N3E,iterations=4096,password=b]",
    "SCRAM-SHA-256", "SCRAM-SHA-256=", "SCRAM-SHA-256=[]", "SCRAM-SHA-256=x",
    "SCRAM-SHA-256=[name=a,salt=N3E,iterations=4096,password=b",
    "SCRAM-SHA-256=name=a,salt=N3E,iterations=4096,password=b]",
]  # fmt: skip


@pytest.mark.parametrize("release", ["3.6.2", "3.8.1", "3.9.2", "4.3.1"])
def test_scram_arguments_are_parsed_as_by_each_grammar(storage_tool: StorageToolServer, tmp_path: Path, release: str):
    row = find_release(release)
    for number, text in enumerate(OLD_SCRAM):
        arguments = ["--cluster-id", "XgM8cvG1S-mQ3k4wGhkVpQ", "--add-scram", text]
        log_dir = formatted(storage_tool, release, tmp_path / str(number), *arguments)
        if log_dir is None:
            assert or_none(lambda text=text: parse_scram(text, release=row, salt=b"new")) is None, text
            continue
        record = decode_checkpoint((log_dir / "bootstrap.checkpoint").read_bytes()).records[-1][1].data
        ours = parse_scram(text, release=row, salt=record["Salt"])
        assert {key: record[key] for key in record if key != "_tags"} == ours.record_value(), text
