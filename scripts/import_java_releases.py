"""Import of schemas/config/java.json: the Java release that a node of each Kafka release needs, from the jars.

    python scripts/import_java_releases.py ~/.cache/kafkactl-lab/kafka-3.3.2 … ~/.cache/kafkactl-lab/kafka-4.4.0

Each folder holds the jars of one release and is named kafka-VERSION; give one of each release, oldest first. A Java
release loads class files up to its own version, so that a node needs the newest version among Kafka's classes.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "schemas" / "config" / "java.json"
_VERSION_OF_JAVA_1 = 44  # class file version 52 is Java 8
_HEAD_BYTES = 8


def main(folders: Sequence[Path]) -> None:
    """Write the table of the releases in the folders."""
    names = {".".join(folder.name.removeprefix("kafka-").split(".")[:2]): folder for folder in folders}
    TARGET.write_text(rendered({name: java_release(folder) for name, folder in names.items()}), encoding="utf-8")


def java_release(jars: Path) -> int:
    """Return the Java release that Kafka's jars in a folder need."""
    return max(version for jar in jars.glob("kafka[-_]*.jar") for version in _versions(jar)) - _VERSION_OF_JAVA_1


def _versions(jar: Path) -> Iterator[int]:
    """Yield the class file version of each class; those for one Java release only are left out."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(".class") and not name.startswith("META-INF/") and not name.endswith("module-info.class"):
                with archive.open(name) as file:
                    yield int.from_bytes(file.read(_HEAD_BYTES)[6:], "big")


def rendered(releases: Mapping[str, int]) -> str:
    """Return the table as JSON, one line a release."""
    lines = ",\n".join(f"{json.dumps(name)}: {java}" for name, java in releases.items())
    return f'{{"made_by": "scripts/import_java_releases.py", "releases": {{\n{lines}\n}}}}\n'


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER… (kafka-VERSION with its jars, oldest first)")
    main([Path(argument) for argument in sys.argv[1:]])
