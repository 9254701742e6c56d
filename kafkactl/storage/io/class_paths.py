"""Search of a class path of this host for a class, as Kafka's loader of plugins reads it (`ChildFirstClassLoader`).

An entry that ends with `/*` is every jar of a folder, any other one is a jar or a folder of classes. Only the
directories of jars are read.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from kafkactl.files.input_files import irregular
from kafkactl.storage.model import ClassPathFacts

_MOST_JARS = 2_000
_FLAWS = (zipfile.BadZipFile, EOFError, RuntimeError, struct.error)
_MOST_BYTES = 1 << 30
# The library makes an object of ten times the bytes of each name; 200,000 classes take 25 MB.
_MOST_DIRECTORY_BYTES = 32 << 20
_DIRECTORY_SIZE = 5  # in the list of the library


def look_for_class(class_path: str, class_name: str) -> ClassPathFacts:
    """Return whether the class is there, which entries are missing, and which could not be read."""
    member = class_name.replace(".", "/") + ".class"
    missing, unreadable, has_class = [], [], False
    for entry in class_path.split(os.pathsep):
        if not entry.strip():
            continue
        try:
            files = list(_files(entry.strip(), member))
            found = [_has(file, member) for file in files]  # all of them: an unreadable jar is worth a word
            has_class = has_class or any(found)
        except FileNotFoundError:
            missing.append(entry)
        except (OSError, ValueError, *_FLAWS) as error:
            unreadable.append(f"{entry} ({error})")
    return ClassPathFacts(has_class=has_class, missing=tuple(missing), unreadable=tuple(unreadable))


def _files(entry: str, member: str) -> Iterator[Path]:
    if entry.endswith("/*"):
        jars = sorted(name for name in os.listdir(entry[:-1]) if name.lower().endswith(".jar"))  # noqa: PTH208
        if len(jars) > _MOST_JARS:
            raise ValueError(f"more than {_MOST_JARS} jars")
        yield from (Path(entry[:-1], name) for name in jars)
    elif Path(entry).is_dir():
        yield Path(entry, member)
    else:
        Path(entry).stat()
        yield Path(entry)


def _has(file: Path, member: str) -> bool:
    if file.suffix == ".class":
        return file.is_file()
    words = irregular(file)
    if words is not None:
        raise ValueError(words)
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError("larger than 1 GiB")
    with file.open("rb") as opened:
        end = zipfile._EndRecData(opened)  # type: ignore[attr-defined]  # as the library reads it, with ZIP64
        if end is not None and end[_DIRECTORY_SIZE] > _MOST_DIRECTORY_BYTES:
            raise ValueError(
                f"its directory has {end[_DIRECTORY_SIZE]} bytes, and the limit is {_MOST_DIRECTORY_BYTES}"
            )
        with zipfile.ZipFile(opened) as jar:
            return member in jar.NameToInfo
