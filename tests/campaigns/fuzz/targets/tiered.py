"""Tiered storage: its metadata, listings of its objects, observations of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence

from bench.fuzz_decoders import with_right_crcs
from kafkactl.core.errors import DecodeError, InputError
from kafkactl.tiered.io.listing import read_listing
from kafkactl.tiered.io.observation import read_observation
from kafkactl.tiered.ledger import MetadataLog, fold
from kafkactl.tiered.observation import observation_document
from kafkactl.tiered.plain_records import PlainReader
from kafkactl.tiered.reading import read_fast, read_records
from kafkactl.tiered.records import decode_frame, remote_record
from tests.campaigns.fuzz.target import Feed, Target, scratch
from tests.tiered.logs import TIERED, LogOf, Topic, observed, partition_seen

Made = tuple[Feed, Sequence[bytes]]
_ORDERS = Topic("orders", 1)


def _records() -> Made:
    def feed(data: bytes) -> object:
        return remote_record(decode_frame(data))

    seeds = [_ORDERS.started(0, "a", 0, 99), _ORDERS.update(0, "a", 1, custom=b"x"), *_ORDERS.copied(1, "b", 5, 9)]
    return feed, [*seeds, *_ORDERS.deleted(0, "a"), _ORDERS.partition_delete(0)]


def _log() -> Made:
    """Return a metadata partition, read the careful way and the fast one, and folded into a ledger."""

    def feed(data: bytes) -> object:
        content = with_right_crcs(data)
        list(read_fast([content[:50], content[50:]], file="f", reader=PlainReader()))
        log = MetadataLog(
            partition=0, paths=("m",), log_start=0, read=lambda: read_records([content], file="m"), read_from=0,
            expected_end=None,
        )  # fmt: skip
        return fold([log], keep_deleted=True)

    plain = LogOf(0).add(_ORDERS.copied(0, "a", 0, 99), _ORDERS.copied(0, "b", 100, 199))
    mixed = LogOf(0, 7).add(_ORDERS.started(0, "a", 0, 9), None, b"x").control().add(_ORDERS.update(0, "a", 2))
    batched = LogOf(0).batch([*_ORDERS.copied(0, "a", 0, 99), _ORDERS.started(1, "c", 0, 1)])
    return feed, [plain.data, mixed.data, batched.data]


_COLUMNS = ("Bucket", "Key", "Size", "LastModifiedDate", "IsLatest", "IsDeleteMarker")


def _listing() -> Made:
    """Return lines, JSON, JSON lines, gzip, an S3 Inventory's manifest; behind a zero byte rows of CSV without a
    header."""
    file = scratch("listing", "l")

    def feed(data: bytes) -> object:
        is_csv = data.startswith(b"\0")
        file.write_bytes(data[1:] if is_csv else data)
        return read_listing(str(file), columns=_COLUMNS if is_csv else ())

    both = [{"Key": "a/b.log", "Size": 5, "LastModified": "2023-11-14T22:13:20+00:00"}]
    part = gzip.compress(b'"b","k",5,"2023-11-14T22:13:20.000Z"\n', mtime=0)
    scratch("listing", "data", "part.csv.gz").write_bytes(part)
    inventory = {
        "fileSchema": "Bucket, Key, Size, LastModifiedDate", "fileFormat": "CSV", "creationTimestamp": "1700000000000",
        "files": [{"key": "data/part.csv.gz", "size": 5, "MD5checksum": "0"}],
    }  # fmt: skip
    lines = b"a/b 19260 2023-11-14T22:13:20Z\nb/2+3.log 5 1700000000000\nfolder/ 0\n"
    return feed, [
        lines, b"2023-11-14 22:13:20      19260 a\n\nTotal Objects: 2\n   Total Size: 19265\n",
        gzip.compress(lines, mtime=0), json.dumps({"Contents": both, "NextToken": None}).encode(),
        b'{"key": "a", "size": 1, "mtime_ms": 1700000000000}\n',
        json.dumps([{"Path": "a", "Size": -1, "ModTime": "2023-11-14T22:13:20Z", "IsDir": True}]).encode(),
        json.dumps(inventory).encode(), b'\0"b","a%2F+b",5,"2023-11-14T22:13:20.000Z","true","false"\n',
    ]  # fmt: skip


def _observation() -> Made:
    file = scratch("tiered-observation", "observation.json")

    def feed(data: bytes) -> object:
        file.write_bytes(data)
        return observation_document(read_observation(str(file.parent)).view, time_ms=1)

    seed = observed([(_ORDERS, TIERED, [partition_seen(earliest=0, local=5, latest=9, bases=[0, 5])])])
    return feed, [json.dumps(seed).encode()]


TARGETS = (
    Target(name="tiered-records", make=_records, declared=(DecodeError,), reads=("tiered.records",)),
    Target(name="tiered-log", make=_log, declared=(DecodeError,),
           reads=("tiered.reading", "tiered.plain_records", "tiered.ledger")),
    Target(name="object-listing", make=_listing, reads=("tiered.io.listing", "tiered.listing")),
    Target(name="tiered-observation", make=_observation, is_json=True, declared=(InputError,),
           reads=("tiered.io.observation", "tiered.observation")),
)  # fmt: skip
