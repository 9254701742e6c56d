"""Lines that the tools of object stores print for an object, one form a tool; the forms are a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.listing_fields import is_archive_class, plain_key, time_of
from kafkactl.tiered.listing_refusals import OF_STORES, RefusedForm

_MILLISECONDS: Final = re.compile(r"\d{12,}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT?\S*")
# Go prints nanoseconds and a name behind the offset of the zone.
_PRINTED_TIME: Final = re.compile(
    r"(\d{4}[-/]\d\d[-/]\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d*\s?(Z|[+-]\d\d:?\d\d)?"
)
_ETAG: Final = r"(?:[0-9a-fA-F]{32}(?:-\d+)?\s+)?"
_DATE: Final = r"\d{4}-\d\d-\d\d"
# Sums behind the last object, directories, and the blank lines between them.
_NO_OBJECT: Final = re.compile(
    r"\s*|\s*Total (?:Objects|Size):.*|TOTAL: \d+ objects?, .*|(?:INFO: )?(?:File count|Total file size): .*"
    r"|INFO: |(?:s3|gs)://.*/:|Found \d+ items"
)
_OSSUTIL_HEAD: Final = re.compile(r"LastModifiedTime\s+Size\(B\)\s+StorageClass\s+ETAG\s+ObjectName")
_OSSUTIL_END: Final = re.compile(r"Object Number is: \d+")
_CONTENT_TYPE: Final = r"[\w.+-]+/[\w.+-]+(?:;\s?\S+)*"
_RIGHTS: Final = r"(?:[r-][w-][xsStT-]){3}[.+@]?"
_HDFS_PATH: Final = r"(?:/|[a-z][a-z0-9+.-]*://)\S.*"
# What `aws s3 ls`, s3cmd, s5cmd, gsutil and `hdfs dfs -ls` print for a folder.
_FOLDER: Final = re.compile(
    rf"\s*(?:DIR|PRE)\s+(\S.*)|\s*((?:s3|gs)://.*/)|d{_RIGHTS}\s+-\s+\S+\s+\S+\s+0\s+{_DATE} \d\d:\d\d ({_HDFS_PATH})"
)


class LineForm(NamedTuple):
    """The lines of one tool. `pattern` has the groups key and size, and may have time and storage_class; `parse` is
    given if a pattern is not enough. `sums` are lines of this tool without an object. If the tool prints a `head`,
    it also prints an `end`."""

    tool: str
    pattern: re.Pattern[str] | None = None
    parse: Callable[[str], StoredObject | None] | None = None
    sums: re.Pattern[str] | None = None
    head: re.Pattern[str] | None = None
    end: re.Pattern[str] | None = None

    def is_head(self, line: str) -> bool:
        """Return True for the line that this tool prints before its objects."""
        return self.head is not None and self.head.fullmatch(line) is not None

    def has_no_object(self, line: str) -> bool:
        """Return True for a line that this tool prints in addition to its objects."""
        return any(each is not None and each.fullmatch(line) for each in (self.sums, self.head, self.end))

    def read(self, line: str) -> StoredObject | None:
        """Return the object of a line; None if the line has another form."""
        if self.parse is not None:
            return self.parse(line)
        found = None if self.pattern is None else self.pattern.fullmatch(line)
        if found is None:
            return None
        groups = found.groupdict()
        archived = is_archive_class(groups.get("storage_class"))
        return StoredObject(plain_key(groups["key"]), int(groups["size"]), _printed_time(groups.get("time")), archived)


def _printed_time(text: str | None) -> int | None:
    """Return the time of a line in ms since the epoch: a date with `-` or `/`, a time, and a zone or none for UTC."""
    parts = None if text is None else _PRINTED_TIME.match(text)
    if parts is None:
        return None
    date, time, zone = parts.groups()
    return time_of(f"{date.replace('/', '-')}T{time}{zone or ''}")


def _plain(line: str) -> StoredObject | None:
    """Return the object of a line `key size [time]`; a key may have blanks."""
    parts = line.strip().rsplit(maxsplit=2)
    if len(parts) == 3 and is_size(parts[1]):
        time_ms = time_of(parts[2]) if _MILLISECONDS.fullmatch(parts[2]) or _TIME.fullmatch(parts[2]) else None
        if time_ms is not None:
            return StoredObject(parts[0], int(parts[1]), time_ms)
    parts = line.strip().rsplit(maxsplit=1)
    return StoredObject(parts[0], int(parts[1]), None) if len(parts) == 2 and is_size(parts[1]) else None


def is_size(text: str) -> bool:
    """Return True for a number of bytes: at most 19 digits."""
    return text.isascii() and text.isdecimal() and len(text) <= 19


PLAIN: Final = LineForm("key size [time]", parse=_plain)
# The first form that fits counts: forms with more fixed text come before forms with less.
FORMS: Final = (
    LineForm(
        "azcopy list --machine-readable",
        re.compile(
            r"(?:INFO: )?(?P<key>\S.*?);\s+(?:(?!Content Length)(?:LastModifiedTime: (?P<time>[^;]+)|"
            r"Blob ?AccessTier: (?P<storage_class>[^;]*)|[A-Za-z0-9]+: [^;]*);\s+)*"
            r"Content Length: (?P<size>\d{1,19})(?:(?:\.00)? B)?"
        ),
    ),
    LineForm("gsutil ls -l", re.compile(r"\s*(?P<size>\d{1,19})\s+(?P<time>\d{4}-\d\d-\d\dT\S+)\s+(?P<key>gs://\S.*)")),
    LineForm(
        "aws s3 ls --recursive",
        re.compile(rf"(?P<time>{_DATE} \d\d:\d\d:\d\d)\s+(?P<size>\d{{1,19}})\s(?P<key>.+)"),
    ),
    LineForm(
        "s3cmd ls --recursive",
        re.compile(
            rf"(?P<time>{_DATE} \d\d:\d\d)\s+(?P<size>\d{{1,19}})\s+{_ETAG}(?:(?P<storage_class>[A-Z_]+)\s+)?"
            r"(?P<key>s3://\S.*)"
        ),
    ),
    LineForm(
        "s5cmd ls",
        re.compile(
            r"(?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\s+(?:(?P<storage_class>[A-Z][A-Z_]*)\s+)?"
            rf"{_ETAG}(?P<size>\d{{1,19}})\s+(?P<key>\S.*)"
        ),
    ),
    LineForm(
        "ossutil ls",
        re.compile(
            rf"(?P<time>{_DATE} \d\d:\d\d:\d\d [+-]\d{{4}}) \S+\s+(?P<size>\d{{1,19}})\s+"
            r"(?P<storage_class>[A-Za-z]+)\s+\S+\s+(?P<key>oss://\S.*)"
        ),
        sums=re.compile(r"[\d.]+\(s\) elapsed"),
        head=_OSSUTIL_HEAD,
        end=_OSSUTIL_END,
    ),
    LineForm(
        "swift list --long",
        re.compile(rf"\s*(?P<size>\d{{1,19}}) (?P<time>{_DATE} \d\d:\d\d:\d\d)\s+{_CONTENT_TYPE} (?P<key>\S.*)"),
        sums=re.compile(r"\s*\d{1,19}"),
    ),
    LineForm(
        "hdfs dfs -ls -R",
        re.compile(
            rf"-{_RIGHTS}\s+\d+\s+\S+\s+\S+\s+(?P<size>\d{{1,19}})\s+(?P<time>{_DATE} \d\d:\d\d) (?P<key>{_HDFS_PATH})"
        ),
    ),
    LineForm("rclone lsl", re.compile(rf"\s*(?P<size>\d{{1,19}}) (?P<time>{_DATE} \d\d:\d\d:\d\d\.\d+) (?P<key>.+)")),
    PLAIN,
    LineForm("rclone ls", re.compile(rf"\s*(?P<size>\d{{1,19}}) (?!\s*{_DATE})(?P<key>.*\D.*)")),
)
_BY_FIND: Final = "list it with `find . -type f -printf '%P %s\\n'`"
_HUMAN: Final = r"\d+(?:\.\d+)?\s?[KMGTPE]i?B"
REFUSED: Final = (
    RefusedForm(
        re.compile(r"\[\d{4}-\d\d-\d\d .*\]\s.*"),
        "`mc ls` prints rounded sizes",
        "List with `mc ls --recursive --json`.",
    ),
    RefusedForm(
        re.compile(rf"(?:INFO: )?.+;.*\s*Content Length: {_HUMAN}"),
        "`azcopy list` prints rounded sizes",
        "List with `azcopy list --machine-readable --properties LastModifiedTime`.",
    ),
    RefusedForm(
        re.compile(r".*; VersionId: .*Content Length: .*"),
        "`azcopy list` prints old versions without marking them",
        "List without the property VersionId.",
    ),
    RefusedForm(
        re.compile(rf"{_DATE} \d\d:\d\d:\d\d\s+(?:{_HUMAN}|\d+ Bytes)\s.+"),
        "`aws s3 ls --human-readable` prints rounded sizes",
        "List with `aws s3 ls --recursive`, without --human-readable.",
    ),
    RefusedForm(
        re.compile(
            rf"(?:{_DATE} \d\d:\d\d|\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d)\s+(?:[A-Z_]+\s+)?\d+(?:\.\d+)?[KMGT]i?B?\s.+"
        ),
        "the sizes are rounded",
        "List with sizes in bytes: `s3cmd ls --recursive` without -H, `s5cmd --json ls`.",
    ),
    RefusedForm(
        re.compile(rf"\s*{_HUMAN}\s+\S+\s+gs://.*"),
        "`gcloud storage ls --readable-sizes` prints rounded sizes",
        "List with `gcloud storage objects list --format=json`.",
    ),
    RefusedForm(
        re.compile(r"\s*\d+\s+\S+\s+gs://.*#\d+\s+metageneration=.*"),
        "`gsutil ls -a` prints old versions without marking them",
        "List with `gcloud storage objects list --format=json`.",
    ),
    RefusedForm(
        re.compile(r"(?:gs|s3)://\S+/\S*[^/:\s]"),
        "the lines have URLs and no sizes",
        "List with `gcloud storage objects list --format=json`, `aws s3 ls --recursive` or `s5cmd ls`.",
    ),
    RefusedForm(
        re.compile(r"Name\s+Blob Type\s.*|.+\t(?:Block|Append|Page)Blob\t.*"),
        "the output of `az storage blob list` is a table or tab-separated",
        "List with `az storage blob list --num-results '*' --output json`.",
    ),
    RefusedForm(
        # Text begins with `None` for the field RequestCharged, YAML with the name of the first field.
        re.compile(r"CONTENTS\t.*|None|-{5,}|\|\s*ListObjectsV?2?\s*\|.*|(?:Contents|RequestCharged):.*"),
        "the output of `aws s3api list-objects-v2` is text, a table or YAML",
        "List with `aws s3api list-objects-v2 --output json`.",
    ),
    RefusedForm(
        re.compile(r"---|NAME\s+SIZE\b.*"),
        "the output of `gcloud storage objects list` is YAML or a table",
        "List with `gcloud storage objects list --format=json`.",
    ),
    RefusedForm(
        re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\s+(?:.*\s)?\d+\s+\S.*\s(?:null|[\w.-]{32})"),
        "`s5cmd ls --all-versions` prints old versions without marking them",
        "List without --all-versions.",
    ),
    RefusedForm(
        re.compile(rf"[-d]{_RIGHTS}\s+(?:\d+|-)\s+\S+\s+\S+\s+\d+(?:\.\d+)? [KMGTP]\s+{_DATE} .*"),
        "`hdfs dfs -ls -h` prints rounded sizes",
        "List with `hdfs dfs -ls -R`, without -h.",
    ),
    RefusedForm(
        re.compile(r"(?:hdfs|viewfs|webhdfs)://\S+"),
        "`hdfs dfs -ls -C` prints no sizes",
        "List with `hdfs dfs -ls -R`, without -C.",
    ),
    RefusedForm(
        # `find -ls` puts numbers before the rights; the first would be read as a size.
        re.compile(
            rf"(?:\s*\d+\s+\d+\s+)?(?![-d]{_RIGHTS}\s+[-\d]+\s.*{_DATE} \d\d:\d\d {_HDFS_PATH})[-dl]{_RIGHTS}\s+.*"
        ),
        "the lines are of `ls -l` or `find -ls`",
        f"Give the directory itself, or {_BY_FIND}.",
    ),
    RefusedForm(
        re.compile(r".*\s\d+\s+\d{10}\.\d+"),
        "the lines end in seconds with a fraction",
        f"Give the directory itself, or {_BY_FIND}.",
    ),
    *OF_STORES,
    RefusedForm(
        re.compile(r"<\?xml\b.*|<(?:ListBucketResult|ListVersionsResult|EnumerationResults)\b.*"),
        "the text is XML, as the REST interface of a store answers",
        "List with the tool of the store: `aws s3api list-objects-v2`, `gcloud storage objects list --format=json`, "
        "`az storage blob list --num-results '*' --output json`.",
    ),
)


def has_no_object(line: str) -> bool:
    """Return True for a line that a tool prints in addition to its objects: a sum, a directory, nothing."""
    return _NO_OBJECT.fullmatch(line) is not None


def folder_line(line: str) -> str | None:
    """Return the key of the folder that a line names; None for another line."""
    found = _FOLDER.fullmatch(line)
    return None if found is None else plain_key(next(key for key in found.groups() if key is not None))


def form_of(lines: Sequence[str]) -> LineForm | None:
    """Return the form that fits most of these lines, the first of several; None if none fits any line."""
    objects = [line for line in lines if not has_no_object(line) and folder_line(line) is None]
    fits = [sum(form.read(line) is not None or form.is_head(line) for line in objects) for form in FORMS]
    return FORMS[fits.index(max(fits))] if any(fits) else None


def refused_form(line: str) -> RefusedForm | None:
    """Return the refused form of a line; None if the line has none."""
    return next((form for form in REFUSED if form.pattern.fullmatch(line.rstrip())), None)
