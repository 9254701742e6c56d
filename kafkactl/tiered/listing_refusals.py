"""Lines of the tools of single stores that do not have what an audit needs, each with the way that works."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class RefusedForm(NamedTuple):
    """Lines of a tool that do not have what an audit needs, and the command of the same tool that prints it."""

    pattern: re.Pattern[str]
    found: str
    next_step: str


_DATE: Final = r"\d{4}-\d\d-\d\d"
_BY_RCLONE: Final = (
    "List with `rclone lsjson --recursive`, or with `aws s3api list-objects-v2 --output json --endpoint-url URL`."
)
_BY_SWIFT: Final = "List with `swift list CONTAINER --json`, or --long without --lh, without --versions."
OF_STORES: Final = (
    RefusedForm(
        re.compile(rf"\s*\d+(?:\.\d+)?[KMGTPEZY] {_DATE} \d\d:\d\d:\d\d .*"),
        "`swift list --lh` prints rounded sizes",
        _BY_SWIFT,
    ),
    RefusedForm(
        re.compile(rf"\s*\S+ {_DATE} \d\d:\d\d:\d\d\s+(?:\d{{10}}\.\d+|null)\s.*"),
        "`swift list --versions` prints old versions without marking them",
        _BY_SWIFT,
    ),
    RefusedForm(
        re.compile(r"\+[-+]+\+"),
        "the output is a table",
        "Ask the tool for JSON: `openstack object list CONTAINER --all --long --format json`, `oci os object list "
        "--all --output json`.",
    ),
    RefusedForm(
        re.compile(rf'"Name"|\S.* \d+ [0-9a-fA-F]{{32}} \S+/\S+ {_DATE}T\S+'),
        "the output of `openstack object list` has no sizes, or its columns have no names",
        "List with `openstack object list CONTAINER --all --long --format json`.",
    ),
    RefusedForm(
        re.compile(r"Found \d+ objects? in bucket .*|Found no objects in bucket .*|Name\s+Last Modified \(UTC\)\s.*"),
        "`ibmcloud cos objects` prints rounded sizes",
        "List with `ibmcloud cos objects --bucket BUCKET --output json`.",
    ),
    RefusedForm(
        re.compile(rf"\s*\S+\s+(?:upload|hide|start|-)\s+(?:{_DATE}|-)\s+(?:\d\d:\d\d:\d\d|-)\s+\d+\s+.*"),
        "`b2 ls --long` does not mark old versions",
        "List with `b2 ls --recursive --json b2://BUCKET`.",
    ),
    RefusedForm(
        re.compile(r"LastModifiedTime\s.*\sIS-LATEST\s.*"),
        "`ossutil ls --all-versions` lists old versions",
        "List with `ossutil ls`, without --all-versions.",
    ),
    RefusedForm(
        re.compile(r"(?:InitiatedTime\s+)?UploadID\s+ObjectName"),
        "uploads follow that are not finished",
        "List with `ossutil ls`, without --multipart and --all-type.",
    ),
    RefusedForm(
        re.compile(r"oss://\S+"),
        "`ossutil ls --short-format` prints no sizes",
        "List with `ossutil ls`, without --short-format and --directory.",
    ),
    RefusedForm(
        re.compile(r"\s*KEY\s+\|\s+TYPE\s+\|.*"),
        "`coscli ls` prints rounded sizes, and the first 10,000 objects alone unless it has a limit",
        _BY_RCLONE,
    ),
    RefusedForm(
        re.compile(rf"\s+\S.*\s{{3,}}(?:\d+\s{{3,}}[A-Z_]+\s{{3,}}{_DATE} \d\d:\d\d:\d\d|DIR)\s*"),
        "`coscmd list` prints 100 objects unless it is asked for all, in columns without names",
        _BY_RCLONE,
    ),
    RefusedForm(
        re.compile(r"Start at \d.*|(?:Object|Folder|Versioning Object) list:|key\s+LastModified\s+Size\s.*|obs://\S+"),
        "`obsutil ls` prints 1,000 objects unless it has a limit, each on several lines",
        _BY_RCLONE,
    ),
    RefusedForm(
        re.compile(r"gs://\S.*[^/]:"),
        "`gcloud storage ls --full` and `gsutil ls -L` print text",
        "List with `gcloud storage objects list --format=json`.",
    ),
    RefusedForm(
        re.compile(r'"[^"]*",\s*"[^"]*".*'),
        "the rows are CSV, and their columns have no names",
        "Give the manifest.json of the inventory, or name the columns: --columns bucket,key,size,last_modified_date.",
    ),
    RefusedForm(
        re.compile(r"(?i)(?=.*\b(?:key|name|path)\b)(?=.*(?:size|length))[\w \"-]+(?:;[\w \"-]+)+"),
        "the columns are separated by semicolons",
        "Write the table with commas, sizes in bytes, and times in ISO 8601.",
    ),
)
