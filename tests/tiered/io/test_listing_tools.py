"""Listings that the tools of object stores print: read with key, size and time, or refused with the way that works.

The lines follow the sources of the tools (azcopy `cmd/list.go`, mc `cmd/ls.go`, s5cmd `command/ls.go`) and the
references of gcloud, gsutil, rclone and s3cmd.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.io.listing import read_listing

A, B = "p/a b-0-id/1.log", "p/c.log"
ETAG = "0123456789abcdef0123456789abcdef"
TIME_MS = 1_700_000_000_000
TIMED = [StoredObject(A, 1000, TIME_MS), StoredObject(B, 7, TIME_MS)]
MINUTE_MS = TIME_MS - 20_000


@pytest.fixture
def listed(tmp_path: Path):
    """Return the objects of a text that a tool printed."""

    def read(text: str, encoding: str = "utf-8") -> list[StoredObject]:
        (tmp_path / "listing").write_bytes(text.encode(encoding))
        return list(read_listing(str(tmp_path / "listing")).objects)

    return read


LINES = {
    "azcopy": (f"{A};  Content Length: 1000\n{B};  Content Length: 7\n", None),
    "azcopy of before": (f"INFO: {A}; Content Length: 1000\nINFO: {B}; Content Length: 7\n", None),
    "azcopy in bytes": (f"{A};  Content Length: 1000.00 B\n{B};  Content Length: 7.00 B\n", None),
    "azcopy with times": (
        f"{A}; LastModifiedTime: 2023-11-14 22:13:20 +0000 GMT; BlobType: BlockBlob;  Content Length: 1000\n"
        f"{B}; LastModifiedTime: 2023-11-14 22:13:20 +0000 GMT; BlobType: BlockBlob;  Content Length: 7\n\n"
        "File count: 2\nTotal file size: 1007\n",
        TIME_MS,
    ),
    "gsutil": (
        f"      1000  2023-11-14T22:13:20Z  gs://tiered/{A}\n         7  2023-11-14T22:13:20Z  gs://tiered/{B}\n"
        "TOTAL: 2 objects, 1007 bytes (1007 B)\n",
        TIME_MS,
    ),
    "s3cmd": (
        f"                          DIR  s3://tiered/p/\n2023-11-14 22:13      1000  s3://tiered/{A}\n"
        f"2023-11-14 22:13         7  s3://tiered/{B}\n",
        MINUTE_MS,
    ),
    "s3cmd -l": (
        f"2023-11-14 22:13      1000  {ETAG}     STANDARD  s3://tiered/{A}\n"
        f"2023-11-14 22:13         7  {ETAG}-2   STANDARD  s3://tiered/{B}\n",
        MINUTE_MS,
    ),
    "s5cmd": (
        f"2023/11/14 22:13:20                 1000  {A}\n2023/11/14 22:13:20                    7  {B}\n",
        TIME_MS,
    ),
    "s5cmd -e": (f"2023/11/14 22:13:20   {ETAG}     1000 {A}\n2023/11/14 22:13:20   {ETAG}        7 {B}\n", TIME_MS),
    "rclone lsl": (
        f"     1000 2023-11-14 22:13:20.000000000 {A}\n        7 2023-11-14 22:13:20.000000000 {B}\n",
        TIME_MS,
    ),
    "rclone ls": (f"     1000 {A}\n        7 {B}\n", None),
    "byte order mark": (f"\ufeff{A} 1000 2023-11-14T22:13:20Z\n{B} 7 2023-11-14T22:13:20Z\n", TIME_MS),
}


@pytest.mark.parametrize("tool", LINES)
def test_lines_of_each_tool_give_the_same_objects(listed, tool: str):
    text, time_ms = LINES[tool]
    assert listed(text) == [found._replace(mtime_ms=time_ms) for found in TIMED]


def _gcloud(key: str, size: int) -> dict:
    url = f"gs://tiered/{key}#17"
    return {"name": key, "size": size, "update_time": "2023-11-14T22:13:20+0000", "storage_url": url}


def _gcloud_ls(key: str, size: int) -> dict:
    inner = {"name": key, "size": str(size), "updated": "2023-11-14T22:13:20.000Z", "storageClass": "ARCHIVE"}
    return {"url": f"gs://tiered/{key}#17", "type": "cloud_object", "metadata": inner}


def _az(key: str, size: int) -> dict:
    inner = {"contentLength": size, "lastModified": "2023-11-14T22:13:20+00:00", "blobTier": "Hot"}
    return {"name": key, "properties": inner, "deleted": None, "snapshot": None, "isCurrentVersion": None}


def _mc(key: str, size: int) -> dict:
    return {"status": "success", "type": "file", "lastModified": "2023-11-14T22:13:20Z", "size": size, "key": key}


def _s5cmd(key: str, size: int) -> dict:
    return {"key": f"s3://tiered/{key}", "last_modified": "2023-11-14T22:13:20Z", "type": "file", "size": size}


def _azcopy(key: str, size: int) -> dict:
    content = {"Path": key, "LastModifiedTime": "2023-11-14T22:13:20Z", "ContentLength": str(size)}
    return {"TimeStamp": "x", "MessageType": "ListObject", "MessageContent": json.dumps(content)}


@pytest.mark.parametrize("entry", [_gcloud, _gcloud_ls, _az, _mc, _s5cmd, _azcopy])
@pytest.mark.parametrize("is_document", [True, False])
def test_json_of_each_tool_gives_the_same_objects(listed, entry, is_document: bool):
    entries = [entry(found.key, found.size) for found in TIMED]
    text = json.dumps(entries) if is_document else "".join(json.dumps(each) + "\n" for each in entries)
    assert listed(text) == TIMED


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("[2023-11-14 22:13:20 UTC] 1000B STANDARD p/a.log\n", "mc ls --recursive --json"),
        (f"{A};  Content Length: 1.23 KiB\n", "--machine-readable"),
        (f"{A}; VersionId: 2023;  Content Length: 12\n", "without the property VersionId"),
        ("2023-11-14 22:13:20    1.2 KiB p/a.log\n", "aws s3 ls --recursive"),
        ("  12  2023-11-14T22:13:20Z  gs://tiered/a.log#17  metageneration=1\n", "gcloud storage objects list"),
        ("gs://tiered/p/a.log\n", "gcloud storage objects list"),
        ("Name     Blob Type    Blob Tier    Length    Content Type\n", "--output json"),
        ("CONTENTS\t\"etag\"\tp/a.log\t2023-11-14T22:13:20Z\t7\tSTANDARD\n", "--output json"),
        ("2023-11-14 22:13   12K  s3://tiered/p/a.log\n", "sizes in bytes"),
        ("None\nCONTENTS\tFULL_OBJECT\t\"etag\"\tp/a.log\n", "list-objects-v2 --output json"),
        ("Contents:\n- Key: p/a.log\n  Size: 7\n", "list-objects-v2 --output json"),
        ("---\nname: p/a.log\nsize: 7\n", "gcloud storage objects list --format=json"),
        ("NAME     SIZE  UPDATE_TIME\np/a.log  7     2023-11-14T22:13:20+0000\n", "--format=json"),
        (f"2023/11/14 22:13:20             7  p/a.log   {ETAG}\n", "without --all-versions"),
        ("2023/11/14 22:13:20   STANDARD  7  p/a.log  null\n", "without --all-versions"),
        ('<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs/></EnumerationResults>', "az storage blob"),
        ("<ListBucketResult><Contents/></ListBucketResult>\n", "aws s3api list-objects-v2"),
        ("some other text\n", "gcloud storage objects list"),
    ],
)  # fmt: skip
def test_unreadable_form_is_refused_with_the_command_that_works(listed, text: str, way: str):
    with pytest.raises(InputError) as caught:
        listed(text)
    assert caught.value.id == "invalid-listing"
    assert way in (caught.value.next_step or "")


def test_directories_of_a_data_lake_are_not_objects(listed):
    entries = [
        {"name": "p", "contentLength": 0, "isDirectory": True, "lastModified": "2023-11-14T22:13:20+00:00"},
        {"name": B, "contentLength": 7, "isDirectory": False, "lastModified": "2023-11-14T22:13:20+00:00"},
    ]
    assert listed(json.dumps(entries)) == TIMED[1:]


def test_lines_of_two_forms_are_refused(listed):
    with pytest.raises(InputError, match="line 2"):
        listed(f"{A} 1000\n{B};  Content Length: 7 KiB\n{B} 7\n")


@pytest.mark.parametrize(
    "extra",
    [
        {"IsLatest": False},
        {"isCurrentVersion": False},
        {"isCurrentVersion": None, "versionId": "2023-11-14T22:13:20.1234567Z"},
        {"snapshot": "2023"},
        {"deleted": True},
        {"noncurrent_time": "2023"},
    ],
)
def test_replaced_and_deleted_objects_are_not_listed(listed, extra: dict):
    entries = [{"name": A, "size": 1000}, {"name": B, "size": 7, **extra}]
    assert [found.key for found in listed(json.dumps(entries))] == [A]


def test_versions_that_are_not_marked_are_refused(listed):
    versions = [_s5cmd(A, 1000) | {"version_id": "one"}, _s5cmd(A, 5) | {"version_id": "two"}]
    with pytest.raises(InputError) as caught:
        listed("".join(json.dumps(each) + "\n" for each in versions))
    assert caught.value.next_step == "List without --all-versions."


def test_key_whose_latest_version_is_a_delete_marker_is_not_listed(listed):
    versions = [_mc(A, 5) | {"versionOrdinal": 1}, _mc(A, 1000) | {"versionOrdinal": 2}]
    versions += [_mc(B, 7) | {"versionOrdinal": 1}, _mc(B, 0) | {"versionOrdinal": 2, "isDeleteMarker": True}]
    text = "".join(json.dumps(each) + "\n" for each in versions)
    assert listed(text) == TIMED[:1]
    document = {
        "Versions": [
            {"Key": A, "Size": 1000, "IsLatest": True, "LastModified": "2023-11-14T22:13:20Z"},
            {"Key": B, "Size": 7, "IsLatest": False, "LastModified": "2023-11-14T22:13:20Z"},
        ],
        "DeleteMarkers": [{"Key": B, "IsLatest": True}],
    }
    assert listed(json.dumps(document)) == TIMED[:1]


@pytest.mark.parametrize(
    ("fields", "is_archived"),
    [
        ({"StorageClass": "STANDARD"}, False),
        ({"StorageClass": "GLACIER"}, True),
        ({"StorageClass": "GLACIER_IR"}, False),
        ({"StorageClass": "DEEP_ARCHIVE"}, True),
        ({"StorageClass": "GLACIER", "RestoreStatus": {"IsRestoreInProgress": False, "RestoreExpiryDate": "x"}}, False),
        ({"blobTier": "Archive"}, True),
        ({"blobTier": "Cold"}, False),
        ({"storage_class": "ARCHIVE"}, False),  # Google's is read at once
        ({"StorageClass": "INTELLIGENT_TIERING", "IntelligentTieringAccessTier": "DEEP_ARCHIVE"}, True),
    ],
)
def test_archived_objects_are_marked(listed, fields: dict, is_archived: bool):
    (found,) = listed(json.dumps([{"Key": A, "Size": 1, **fields}]))
    assert found.is_archived is is_archived


def test_csv_with_a_header_is_read(listed):
    text = "Name,Creation-Time,Last-Modified,Content-Length,BlobType,AccessTier\n"
    text += f"{A},2023-11-14T22:13:19Z,2023-11-14T22:13:20Z,1000,BlockBlob,Hot\n"
    assert listed(text) == TIMED[:1]


@pytest.mark.parametrize(
    "text",
    [
        '{"status":"success","type":"file","key":"a","size":1}\n{"status":"error","error":{"message":"x"}}\n',
        json.dumps([{"name": "a", "properties": {"contentLength": 1}}, {"nextMarker": "x"}]),
        json.dumps({"items": [{"name": "a", "size": "1"}], "nextPageToken": "x"}),
    ],
)
def test_listing_that_is_not_whole_is_refused(listed, text: str):
    with pytest.raises(InputError) as caught:
        listed(text)
    assert caught.value.id == "truncated-listing"


def test_output_that_powershell_redirected_is_read(listed):
    assert listed(LINES["gsutil"][0], encoding="utf-16") == TIMED


def test_keys_of_an_encoded_listing_are_decoded(listed):
    # `aws s3api list-objects-v2 --encoding-type url` prints the keys as the store encodes them.
    entry = {"Key": "a%2Bb/x+y/%C3%A9.log", "Size": 7}
    assert [found.key for found in listed(json.dumps({"EncodingType": "url", "Contents": [entry]}))] == [
        "a+b/x y/é.log"
    ]
    assert [found.key for found in listed(json.dumps({"Contents": [entry]}))] == ["a%2Bb/x+y/%C3%A9.log"]


@pytest.mark.parametrize(
    "line",
    [
        f"  1234      4 -rw-r--r--   1 kafka    kafka        1000 Nov 14 22:13 ./{B}",
        f"-rw-r--r--. 1 kafka kafka 1000 Nov 14 22:13 {B}",
        f"-rw-r--r--   3 kafka kafka 1000 2023-11-14 22:13 {B}",
        "drwxr-xr-x 2 kafka kafka 4096 Nov 14 22:13 p",
    ],
)
def test_lines_of_ls_are_refused(listed, line: str):
    # Else the inode of `find -ls` is the size of the object.
    with pytest.raises(InputError) as caught:
        listed(f"{line}\n{line}\n")
    assert (caught.value.id, "find . -type f -printf" in str(caught.value.next_step)) == ("invalid-listing", True)


def test_lines_that_end_in_carriage_returns_alone_are_refused(listed):
    with pytest.raises(InputError, match="carriage return"):
        listed(f"{A} 1000\r{B} 7\r")
