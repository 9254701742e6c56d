"""Forms of a listing: all give the same objects, and a cut or foreign listing is an error that says so."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Uuid
from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.io.listing import read_listing
from kafkactl.tiered.layouts import AIVEN, LOCAL, aiven_remote_size, guessed, layout_of

KEY, OTHER = "pre fix/a-0-id/1.log", "b/2+3.log"
MADE_MS = 1_700_000_000_000
BOTH = (StoredObject(KEY, 19260, MADE_MS), StoredObject(OTHER, 5, MADE_MS))
LINES = f"{KEY} 19260 2023-11-14T22:13:20Z\n{OTHER} 5 {MADE_MS}\nfolder/ 0\n"
SUMS = "\nTotal Objects: 2\n   Total Size: 19265\n"
AWS = f"2023-11-14 22:13:20      19260 {KEY}\n2023-11-14 22:13:20          5 {OTHER}\n{SUMS}"
LIST_V2 = {
    "Contents": [{"Key": part.key, "Size": part.size, "LastModified": "2023-11-14T22:13:20+00:00"} for part in BOTH]
}
RCLONE = [{"Path": part.key, "Size": part.size, "ModTime": "2023-11-14T22:13:20Z", "IsDir": False} for part in BOTH]
JSONL = "".join(json.dumps({"key": part.key, "size": part.size, "mtime_ms": MADE_MS}) + "\n" for part in BOTH)
DIRECTORY = {"Path": "folder", "Size": -1, "ModTime": "2023-11-14T22:13:20Z", "IsDir": True}


@pytest.mark.parametrize(
    "text", [LINES, AWS, json.dumps(LIST_V2, indent=1), json.dumps([*RCLONE, DIRECTORY]), JSONL], ids=range(5)
)
@pytest.mark.parametrize("zipped", [False, True])
def test_text_listings_are_read(tmp_path: Path, text: str, zipped: bool):
    file = tmp_path / "listing"
    file.write_bytes(gzip.compress(text.encode(), mtime=0) if zipped else text.encode())
    assert read_listing(str(file)).objects == BOTH


def test_time_of_zero_is_none(tmp_path: Path):
    (tmp_path / "l").write_text('{"key": "a", "size": 1, "mtime_ms": 0}\n')
    assert read_listing(str(tmp_path / "l")).objects == (StoredObject("a", 1, None),)


def test_lines_without_times_are_read(tmp_path: Path):
    (tmp_path / "l").write_text("a 12 345\nb 6\n")
    assert read_listing(str(tmp_path / "l")).objects == (StoredObject("a 12", 345, None), StoredObject("b", 6, None))


ROWS = (
    '"bucket","pre+fix%2Fa-0-id%2F1.log","v2","true","false","19260","2023-11-14T22:13:20.000Z"\n'
    '"bucket","pre+fix%2Fa-0-id%2F1.log","v1","false","false","1","2023-11-14T22:13:19.000Z"\n'
    '"bucket","b%2F2%2B3.log","v1","true","false","5","2023-11-14T22:13:20.000Z"\n'
    '"bucket","gone.log","v9","true","true","","2023-11-14T22:13:20.000Z"\n'
)
COLUMNS = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate"


@pytest.mark.parametrize("place", [".", "data", ".."])
def test_s3_inventory_of_csv_is_read(tmp_path: Path, place: str):
    folder = tmp_path / "2023-11-14"
    folder.mkdir()
    (folder / place).mkdir(exist_ok=True)
    (folder / place / "part1.csv.gz").write_bytes(gzip.compress(ROWS.encode(), mtime=0))
    manifest = {
        "creationTimestamp": str(MADE_MS + 5),
        "fileFormat": "CSV",
        "fileSchema": COLUMNS,
        "files": [{"key": "inventory/data/part1.csv.gz", "size": 1}],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = read_listing(str(folder / "manifest.json"))
    assert (found.objects, found.time_ms, found.format) == (BOTH, MADE_MS + 5, "s3-inventory")
    checked = {
        "key": "inventory/data/part1.csv.gz",
        "MD5checksum": hashlib.md5(gzip.compress(ROWS.encode(), mtime=0)).hexdigest(),
    }
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": [checked]}))
    (folder / place / "part1.csv.gz").write_bytes(gzip.compress(ROWS[: ROWS.index("\n") + 1].encode()))
    with pytest.raises(KafkactlError) as caught:
        read_listing(str(folder / "manifest.json"))
    assert caught.value.id == "truncated-listing"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / place / "part1.csv.gz").unlink()
    with pytest.raises(KafkactlError) as caught:
        read_listing(str(folder / "manifest.json"))
    assert caught.value.id == "missing-inventory-file"


def test_single_csv_and_parquet_files_are_read(tmp_path: Path):
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / "rows.csv").write_text(ROWS)
    columns = [name.strip() for name in COLUMNS.split(",")]
    assert read_listing(str(tmp_path / "rows.csv"), columns=columns).objects == BOTH
    time = pa.array([MADE_MS, MADE_MS], pa.timestamp("ms", tz="UTC"))
    keys, sizes = [part.key for part in BOTH], [part.size for part in BOTH]
    table = pa.table({"bucket": ["x", "x"], "key": keys, "size": sizes, "last_modified_date": time})
    parquet.write_table(table, tmp_path / "rows.parquet")
    assert read_listing(str(tmp_path / "rows.parquet")).objects == BOTH


def test_folder_and_file_system_of_pyarrow_are_read(tmp_path: Path):
    (tmp_path / "store" / "deep").mkdir(parents=True)
    (tmp_path / "store" / "deep" / "a.log").write_bytes(b"12345")
    (tmp_path / "store" / "empty").mkdir()
    for path in (str(tmp_path / "store"), f"file://{tmp_path / 'store'}"):
        assert [(found.key, found.size) for found in read_listing(path).objects] == [("deep/a.log", 5)]


@pytest.mark.parametrize(
    ("data", "error_id"),
    [
        (b"no size here\n", "invalid-listing"),
        (json.dumps(RCLONE).encode()[:-4], "truncated-listing"),
        (json.dumps({**LIST_V2, "IsTruncated": True}).encode(), "truncated-listing"),
        (gzip.compress(LINES.encode(), mtime=0)[:-9], "truncated-listing"),
        (JSONL.encode()[:-5], "truncated-listing"),
        (b'{"key": 5}', "invalid-listing"),
        (b"a.log 12 1700000000\n", "invalid-listing"),
        (b'[{"key": "a", "size": 1, "LastModified": 1700000000}]', "invalid-listing"),
        (b'{"key": "a", "size": 1, "mtime_ms": 1700000000}\n{"key": "b", "size": 1}\n', "invalid-listing"),
        (b"\xff\xfe\x00", "invalid-listing"),
    ],
)
def test_invalid_listing_is_refused(tmp_path: Path, data: bytes, error_id: str):
    (tmp_path / "l").write_bytes(data)
    with pytest.raises(KafkactlError) as caught:
        read_listing(str(tmp_path / "l"))
    assert caught.value.id == error_id


TOPIC, SEGMENT = Uuid(bytes(range(16))), Uuid(bytes(range(16, 32)))


@pytest.mark.parametrize("topic", ["orders", "a.b-c-7", "x--1"])
def test_layouts_find_ids_from_the_end(topic: str):
    name = f"{36:020}-{SEGMENT}"
    local = LOCAL.parse(f"kafka-tiered-storage/{topic}-3-{TOPIC}/{name}.leader_epoch_checkpoint")
    aiven = AIVEN.parse(f"some/prefix/{topic}-{TOPIC}/3/{name}.rsm-manifest")
    for found, suffix in ((local, "leader_epoch_checkpoint"), (aiven, "rsm-manifest")):
        assert found is not None
        assert (found.topic, found.topic_id, found.partition) == (topic, TOPIC.raw, 3)
        assert (found.segment_id, found.suffix) == (SEGMENT.raw, suffix)
    assert LOCAL.parse(f"{topic}-3-{TOPIC}/notes.txt") is None
    assert guessed([f"{topic}-{TOPIC}/3/{name}.log", "README"]) is AIVEN
    assert guessed(["README"]) is None


def test_custom_pattern_is_parsed():
    layout = layout_of("t/{topic}/{partition}/{segment_id}.{suffix}")
    assert layout is not None
    found = layout.parse(f"t/orders/4/{SEGMENT}.log")
    assert found is not None
    assert (found.topic, found.partition, found.segment_id) == ("orders", 4, SEGMENT.raw)
    for wrong in ("{topic}", "{segment_id}{segment_id}", "{what}{segment_id}"):
        with pytest.raises(KafkactlError):
            layout_of(wrong)


def test_size_is_read_from_aivens_custom_metadata():
    assert aiven_remote_size(bytes([2, 0, 3, 0xF8, 0xAC, 0x02, 1, 2, 1, 65])) == 19260
    for cut in (None, b"", b"\x01", b"\x01\x00\x05\x01", b"\x01\x07\x01\x01"):
        assert aiven_remote_size(cut) is None


def test_line_ends_other_than_line_feeds_are_part_of_a_key(tmp_path: Path):
    (tmp_path / "l").write_bytes("\ufeffa\u2028b\x85c 1\r\nd\x1ce 2\r\n".encode())
    found = read_listing(str(tmp_path / "l"))
    assert [part.key for part in found.objects] == ["a\u2028b\x85c", "d\x1ce"]
    assert found.ends_whole


def test_gzip_files_one_after_another_are_one_listing(tmp_path: Path):
    (tmp_path / "l").write_bytes(gzip.compress(b"a 1\nb") + gzip.compress(b"") + gzip.compress(b" 2\n"))
    assert [part.key for part in read_listing(str(tmp_path / "l")).objects] == ["a", "b"]


@pytest.mark.parametrize("packed", [False, True])
def test_byte_that_is_not_utf8_is_named_by_its_offset(tmp_path: Path, packed: bool):
    text = b"a 1\n" * 200_000 + b"\xff 1\n"
    (tmp_path / "l").write_bytes(gzip.compress(text, 0) if packed else text)
    with pytest.raises(KafkactlError, match="byte 800000"):
        read_listing(str(tmp_path / "l"))


def test_listing_that_repeats_one_line_is_refused(tmp_path: Path):
    (tmp_path / "l").write_bytes(gzip.compress(b"a 1\n" * 200_001))
    with pytest.raises(KafkactlError) as caught:
        read_listing(str(tmp_path / "l"))
    assert caught.value.id == "listing-too-large"
    (tmp_path / "l").write_bytes(gzip.compress(b"a 1\n" * 200_000))
    assert len(read_listing(str(tmp_path / "l")).objects) == 200_000


MILLIONS = [
    pytest.param(form, 2_000_000, marks=pytest.mark.campaign) for form in ("lines", "json-lines", "document", "csv")
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "count"), [("lines", 400_000), *MILLIONS])
def test_packed_listing_of_many_objects_is_read(tmp_path: Path, form: str, count: int):
    # Keys that count up pack better than any real ones, which hold random ids.
    keys = (f"data/part-{number:08}.log" for number in range(count))
    columns: tuple[str, ...] = ()
    if form == "lines":
        lines = (f"{key} 1048576 {MADE_MS}\n" for key in keys)
    elif form == "csv":
        lines, columns = (f'"bucket","{key}","1048576"\n' for key in keys), ("Bucket", "Key", "Size")
    elif form == "document":
        more = {"Size": 1048576, "ETag": "0" * 32, "StorageClass": "STANDARD"}
        lines = (f"{'[' if key.endswith('-00000000.log') else ','}{json.dumps({'Key': key} | more)}\n" for key in keys)
    else:
        lines = (json.dumps({"key": key, "size": 1048576, "mtime_ms": MADE_MS}) + "\n" for key in keys)
    with gzip.open(tmp_path / "l", "wt", compresslevel=9) as file:
        file.writelines(lines)
        file.write("]" if form == "document" else "")
    assert len(read_listing(str(tmp_path / "l"), columns=columns).objects) == count


def zip_of(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("listing.txt", data)
    return made.getvalue()


def tar_of(data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        entry = tarfile.TarInfo("listing.txt")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


@pytest.mark.parametrize(
    "pack, name",
    [
        (zip_of, "ZIP"),
        (lambda data: zip_of(zip_of(data)), "ZIP"),
        (bz2.compress, "bzip2"),
        (lzma.compress, "xz"),
        (lambda data: lzma.compress(data, lzma.FORMAT_ALONE), "LZMA"),
        (lambda data: b"\x28\xb5\x2f\xfd" + data, "Zstandard"),
        (lambda data: b"7z\xbc\xaf\x27\x1c" + data, "7z"),
        (tar_of, "tar"),
        (lambda data: gzip.compress(tar_of(data), mtime=0), "in gzip tar"),
        (lambda data: gzip.compress(gzip.compress(data, mtime=0), mtime=0), "in gzip gzip"),
    ],
)
def test_packed_listing_is_refused_by_the_name_of_its_format(
    tmp_path: Path, pack: Callable[[bytes], bytes], name: str
) -> None:
    file = tmp_path / "listing"
    file.write_bytes(pack(LINES.encode()))
    with pytest.raises(KafkactlError, match=f"is {name}: a listing is read as text") as caught:
        read_listing(str(file))
    assert caught.value.id == "invalid-listing"
    assert (caught.value.next_step or "").startswith("Unpack it")
