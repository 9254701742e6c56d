"""Listings of other stores and of their own tools: read with key, size and time, or refused with the way that works.

The samples follow the sources of the tools: oci-cli, python-swiftclient, python-openstackclient, ibmcloud-cos-cli, b2
with b2sdk, ossutil, coscli, coscmd, obsutil, and `hdfs dfs -ls` (`Ls.java`).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.io.listing import read_listing

A, B = "p/a b-0-id/1.log", "p/c.log"
TIME_MS = 1_700_000_000_000
TIMED = [StoredObject(A, 1000, TIME_MS), StoredObject(B, 7, TIME_MS)]
UNTIMED = [found._replace(mtime_ms=None) for found in TIMED]
MD5, TIME = "7E2F4A7F1AC9D2F0996E8332D5EA5B41", "2023-11-14T22:13:20.000000+00:00"
WAY = "rclone lsjson --recursive"


@pytest.fixture
def listed(tmp_path: Path):
    """Return the objects of a text or of bytes that a tool printed."""

    def read(text: str | bytes) -> list[StoredObject]:
        (tmp_path / "listing").write_bytes(text.encode() if isinstance(text, str) else text)
        return list(read_listing(str(tmp_path / "listing")).objects)

    return read


def refusal(listed, text: str | bytes) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        listed(text)
    return caught.value.id, f"{caught.value} {caught.value.next_step}"


def oci(key: str, size: int | None, **more: object) -> dict:
    return {
        "archival-state": None, "etag": "e", "md5": "m", "name": key, "size": size, "storage-tier": "Standard",
        "time-created": "2023-11-14T22:13:19+00:00", "time-modified": TIME,
    } | more  # fmt: skip


def swift(key: str, size: int) -> dict:
    return {
        "bytes": size, "content_type": "application/octet-stream", "hash": MD5.lower(),
        "last_modified": "2023-11-14T22:13:20.000000", "name": key,
    }  # fmt: skip


def openstack(key: str, size: int) -> dict:
    return {
        "Name": key, "Bytes": size, "Hash": MD5.lower(), "Content Type": "application/octet-stream",
        "Last Modified": "2023-11-14T22:13:20.000000",
    }  # fmt: skip


def b2(key: str, size: int | None, at: int = TIME_MS, **more: object) -> dict:
    return {
        "accountId": "x", "action": "upload", "bucketId": "y", "contentSha1": "none", "fileId": "4_z", "fileInfo": {},
        "fileName": key, "fileRetention": {"mode": None}, "replicationStatus": None, "size": size,
        "uploadTimestamp": at,
    } | more  # fmt: skip


def s3(key: str, size: int) -> dict:
    return {"ETag": '"e"', "Key": key, "LastModified": "2023-11-14T22:13:20.000Z", "Size": size}


def each(make) -> list[dict]:
    return [make(found.key, found.size) for found in TIMED]


DOCUMENTS = {
    "oci os object list --all": {"data": each(oci), "prefixes": []},
    "swift list --json": each(swift),
    "openstack object list --long --format json": each(openstack),
    "ibmcloud cos objects --output json": {"Contents": each(s3), "IsTruncated": False, "MaxKeys": 1000, "Name": "b"},
    "b2 ls --recursive --json": each(b2),
    "b2 list-file-names": {"files": each(b2), "nextFileName": None},
    "aws s3api list-object-versions": {
        "Versions": [entry | {"IsLatest": True} for entry in each(s3)],
        "RequestCharged": None,
    },
}


@pytest.mark.parametrize("tool", DOCUMENTS)
def test_document_of_each_store_gives_the_same_objects(listed, tool: str):
    assert listed(json.dumps(DOCUMENTS[tool], indent=2)) == TIMED
    assert listed(b"\xef\xbb\xbf" + json.dumps(DOCUMENTS[tool], indent=2).replace("\n", "\r\n").encode()) == TIMED
    assert listed(gzip.compress(json.dumps(DOCUMENTS[tool]).encode())) == TIMED


def ossutil(key: str, size: int, storage_class: str = "Standard") -> str:
    return f"{'2023-11-15 06:13:20 +0800 CST':30}{size:12}  {storage_class:>12}   {MD5:36}  oss://tiered/{key}\n"


OSSUTIL = f"{'LastModifiedTime':30}{'Size(B)':>12}  StorageClass   {'ETAG':36}  ObjectName\n"
OSSUTIL_END = "Object Number is: 1\n"
LINES = {
    "ossutil ls": OSSUTIL + ossutil(A, 1000) + ossutil(B, 7) + "Object Number is: 2\n\n0.066567(s) elapsed\n",
    "swift list --long": (
        f"        1000 2023-11-14 22:13:20 application/octet-stream {A}\n"
        f"           7 2023-11-14 22:13:20 text/plain; charset=utf-8 {B}\n        1007\n"
    ),
    "openstack object list --long --format csv": (
        '"Name","Bytes","Hash","Content Type","Last Modified"\n'
        f'"{A}",1000,"m","application/octet-stream","2023-11-14T22:13:20.000000"\n'
        f'"{B}",7,"m","application/octet-stream","2023-11-14T22:13:20.000000"\n'
    ),
    "gcloud storage objects list --format=csv": (
        f"name,size,update_time\n{A},1000,2023-11-14T22:13:20+0000\n{B},7,2023-11-14T22:13:20+0000\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", LINES)
def test_lines_of_each_store_give_the_same_objects(listed, tool: str):
    assert listed(LINES[tool]) == TIMED
    assert listed("\ufeff" + LINES[tool].replace("\n", "\r\n")) == TIMED


def test_lines_of_hdfs_are_read(listed):
    text = (
        "drwxr-xr-x   - kafka kafka          0 2023-11-14 22:13 /p\n"
        "drwxr-xr-x   - kafka kafka          0 2023-11-14 22:13 /p/a b-0-id\n"
        f"-rw-r--r--   3 kafka kafka       1000 2023-11-14 22:13 /{A}\n"
        f"-rw-r--r--+  3 kafka kafka          7 2023-11-14 22:13 hdfs://names:8020/{B}\n"
    )
    assert listed(text) == [
        StoredObject(f"/{A}", 1000, TIME_MS - 20_000),
        StoredObject(B, 7, TIME_MS - 20_000),
    ]


REFUSED = {
    "oci, first page": (json.dumps({"data": each(oci), "next-start-with": "p/d", "prefixes": []}), "--all"),
    "oci, names alone": (json.dumps({"data": [oci(A, None)], "prefixes": []}), "--fields"),
    "oci, table": ("+----------+------+\n| name     | size |\n+----------+------+\n", "--output json"),
    "oci, versions": (json.dumps({"data": {"items": [oci(A, 1)], "prefixes": []}}), "oci os object list --all"),
    "swift --lh": ("1.0K 2023-11-14 22:13:20 application/octet-stream p/a.log\n", "swift list CONTAINER --json"),
    "swift, mixed": (
        "   7 2023-11-14 22:13:20 text/plain p/c.log\n1.0K 2023-11-14 22:13:20 text/plain p/a.log\n", "--json",
    ),
    "swift --versions": (
        "        1000 2023-11-14 22:13:20 1700000000.00000 application/octet-stream p/a.log\n", "without --versions",
    ),
    "openstack, names": (json.dumps([{"Name": A}]), "--long"),
    "openstack, table": ("+------+-------+\n| Name | Bytes |\n+------+-------+\n", "--format json"),
    "openstack, value": (f"{B} 7 {MD5} application/octet-stream 2023-11-14T22:13:20.000000\n", "--format json"),
    "ibmcloud, text": ("Name   Last Modified (UTC)   Object Size\np/a.log   Nov 14, 2023   1 KiB\n", "--output json"),
    "ibmcloud, text v1": ("Found 2 objects in bucket 'tiered':\n\nName   Last Modified (UTC)\n", "--output json"),
    "ibmcloud, page": (json.dumps({"Contents": each(s3), "IsTruncated": True, "NextMarker": B}), "follow"),
    "versions, page": (json.dumps({"Versions": each(s3), "NextKeyMarker": B}), "follow"),
    "aws, page": (json.dumps({"Contents": each(s3), "NextToken": "x"}), "--max-items"),
    "b2 ls --long": (
        f"{'4_z1_f2_d3_m4_c5_v6_t7':>83}  upload  2023-11-14  22:13:20       1000  {A}\n", "b2 ls --recursive --json",
    ),
    "b2, page": (json.dumps({"files": each(b2), "nextFileName": "p/d"}), "follow"),
    "ossutil -s": ("oss://tiered/p/a.log\nObject Number is: 1\n", "without --short-format"),
    "ossutil, versions": (
        OSSUTIL.replace("ObjectName", f"{'VERSIONID':66}  IS-LATEST   DELETE-MARKER  ObjectName"),
        "without --all-versions",
    ),
    "ossutil, uploads": (
        OSSUTIL + ossutil(A, 1000) + "Object Number is: 1\nInitiatedTime         UploadID        ObjectName\n",
        "without --multipart",
    ),
    "ossutil, cut": (OSSUTIL + ossutil(A, 1000) + ossutil(B, 7), "ends after line 3"),
    "number alone": (f"{A} 1000\n7\n", "no size"),
    "coscli": ("  KEY     | TYPE     | LAST MODIFIED             | ETAG | SIZE    | RESTORESTATUS  \n", WAY),
    "coscmd": (f"   {A}      1000   STANDARD   2023-11-14 22:13:20   \n", WAY),
    "obsutil": ("Start at 2023-11-14 22:13:20.000 +0000 UTC\n\nObject list:\n", WAY),
    "obsutil, rows": ("Object list:\nkey      LastModified    Size      StorageClass        ETag\n", WAY),
    "obsutil -s": ("obs://tiered/p/a.log\n", WAY),
    "hdfs -h": ("-rw-r--r--   3 kafka kafka      1.0 K 2023-11-14 22:13 /p/a.log\n", "hdfs dfs -ls -R"),
    "hdfs -C": ("hdfs://names:8020/p/a.log\n", "hdfs dfs -ls -R"),
    "ls -l": ("-rw-r--r-- 1 kafka kafka 1000 2023-11-14 22:13 a.log\n", "find . -type f -printf"),
    "find, seconds": (f"{A} 1000 1700000000.1234567890\n", "find . -type f -printf"),
    "S3 inventory": ('"tiered","p/a.log","1000","2023-11-14T22:13:20.000Z"\n', "--columns"),
    "S3 inventory, ORC": (b"ORC\x00\x01\x02", "CSV or Parquet"),
    "gcloud ls -L": ("gs://tiered/p/a.log:\n  Creation Time:               2023-11-14T22:13:20Z\n", "--format=json"),
    "CSV of another locale": ("Key;Size;LastModified\np/a.log;1000;14.11.2023 22:13\n", "commas"),
    "date of another locale": ('Key,Size,LastModified\np/a.log,1000,14.11.2023 22:13\n', "ISO 8601"),
    "size of another locale": ('Key,Size,LastModified\np/a.log,"1,000",2023-11-14T22:13:20Z\n', "size"),
    "date in JSON": (json.dumps([{"Key": A, "Size": 1, "LastModified": "14/11/2023 22:13"}]), "ISO 8601"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_unreadable_listing_is_refused_with_the_way_that_works(listed, name: str):
    text, way = REFUSED[name]
    id, said = refusal(listed, text)
    assert id in ("invalid-listing", "truncated-listing")
    assert way in said


@pytest.mark.parametrize(
    "text",
    [
        "                           PRE p/\n2023-11-14 22:13:20          7 c.log\n",
        "                           PRE p/\n",
        "                          DIR  s3://tiered/p/\n2023-11-14 22:13         7  s3://tiered/c.log\n",
        "                                      DIR  p/\n2023/11/14 22:13:20             7  c.log\n",
        "         7  2023-11-14T22:13:20Z  gs://tiered/c.log\n                                 gs://tiered/p/\n",
        "Found 2 items\ndrwxr-xr-x   - k k   0 2023-11-14 22:13 /t/p\n"
        "-rw-r--r--   3 k k   7 2023-11-14 22:13 /t/c.log\n",
        json.dumps([{"Path": "p", "Size": -1, "IsDir": True}, {"Path": "c.log", "Size": 7, "IsDir": False}]),
        json.dumps({"Contents": [s3("k/c.log", 7)], "CommonPrefixes": [{"Prefix": "k/p/"}]}),
        json.dumps({"data": [oci("c.log", 7)], "prefixes": ["p/"]}),
        json.dumps([swift("c.log", 7), {"subdir": "p/"}]),
        json.dumps({"files": [b2("c.log", 7), b2("p/", 0, action="folder")]}),
        json.dumps({"status": "success", "type": "folder", "key": "p/", "size": 0}) + "\n"
        + json.dumps({"status": "success", "type": "file", "key": "c.log", "size": 7}) + "\n",
        json.dumps({"key": "s3://tiered/k/p/", "type": "directory"}) + "\n"
        + json.dumps({"key": "s3://tiered/k/c.log", "type": "file", "size": 7}) + "\n",
        json.dumps([{"url": "gs://tiered/p/", "type": "prefix"}]),
    ],
)  # fmt: skip
def test_listing_of_one_folder_is_refused(listed, text: str):
    # Else the objects in its folders would seem to be missing.
    id, said = refusal(listed, text)
    assert id == "truncated-listing"
    assert "recursive" in said


def test_folders_of_a_recursive_listing_are_left_out(listed):
    entries = [
        {"Path": "p", "Size": -1, "IsDir": True}, {"Path": "empty", "Size": -1, "IsDir": True},
        *({"Path": found.key, "Size": found.size, "ModTime": "2023-11-14T22:13:20.000000000Z"} for found in TIMED),
    ]  # fmt: skip
    assert listed(json.dumps(entries)) == TIMED
    azure = "Name,Last-Modified,Content-Length,hdi_isfolder\n"
    azure += f"t/p,2023-11-14T22:13:20Z,0,true\nt/{B},2023-11-14T22:13:20Z,7,\n"
    assert [found.key for found in listed(azure)] == [f"t/{B}"]


def test_latest_version_of_b2_is_the_object(listed):
    versions = [
        b2(A, 1000), b2(A, 5, TIME_MS - 1), b2(A, None, TIME_MS + 1, action="start"),
        b2(B, None, TIME_MS + 1, action="hide"), b2(B, 7),
    ]  # fmt: skip
    assert listed(json.dumps(versions)) == TIMED[:1]


@pytest.mark.parametrize(
    ("text", "is_archived"),
    [
        (json.dumps({"data": [oci(A, 1, **{"storage-tier": "Archive", "archival-state": "Archived"})]}), True),
        (json.dumps({"data": [oci(A, 1, **{"storage-tier": "Archive", "archival-state": "Restored"})]}), False),
        (json.dumps({"data": [oci(A, 1, **{"storage-tier": "InfrequentAccess"})]}), False),
        (OSSUTIL + ossutil(A, 1, "ColdArchive") + OSSUTIL_END, True),
        (OSSUTIL + ossutil(A, 1, "Archive") + OSSUTIL_END, True),
        (ossutil(A, 1, "IA"), False),
    ],
)
def test_archived_objects_of_each_store_are_marked(listed, text: str, is_archived: bool):
    (found,) = listed(text)
    assert found.is_archived is is_archived


@pytest.mark.parametrize("document", [{"RequestCharged": None}, {"KeyCount": 0}, {"prefixes": []}, {"data": []}, []])
def test_listing_without_objects_is_empty(listed, document: object):
    assert listed(json.dumps(document)) == []


def test_http_date_is_read(listed):
    # The service of a data lake lists its paths with dates as HTTP headers have them.
    entry = {"name": A, "contentLength": 1000, "lastModified": "Tue, 14 Nov 2023 22:13:20 GMT", "isDirectory": False}
    assert listed(json.dumps([entry])) == TIMED[:1]
