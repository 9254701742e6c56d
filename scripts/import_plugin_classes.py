"""Import of schemas/config/classes.json: Kafka's own classes that settings can name, by release, from the jars.

    python scripts/import_plugin_classes.py ~/.cache/kafkactl-lab/kafka-3.3.2 … ~/.cache/kafkactl-lab/kafka-4.4.0

Each folder holds the jars of one release and is named kafka-VERSION; give one of each release, oldest first. Needs a
JDK. Classes of tools are left out: not every folder has their jar.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(__file__).with_name("PluginClasses.java")
TARGET = ROOT / "schemas" / "config" / "classes.json"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_NOT_EVERYWHERE = "org.apache.kafka.tools."


def main(folders: Sequence[Path]) -> None:
    """Write the table of the releases in the folders."""
    releases = {".".join(folder.name.removeprefix("kafka-").split(".")[:2]): folder for folder in folders}
    TARGET.write_text(rendered({name: classes("java", folder) for name, folder in releases.items()}), encoding="utf-8")


def classes(java: str, jars: Path) -> set[str]:
    """Return the classes of the release in the folder."""
    command = [java, *_JVM, "-cp", f"{jars}/*", str(SOURCE), str(jars)]
    return parsed(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def parsed(printed: str) -> set[str]:
    """Return what PluginClasses.java prints."""
    return {name for name in printed.split() if not name.startswith(_NOT_EVERYWHERE)}


def rendered(releases: Mapping[str, set[str]]) -> str:
    """Return the table as JSON: the releases of each class, one line a class."""
    names = sorted(set().union(*releases.values()))
    lines = [
        f"{json.dumps(name)}: {json.dumps([release for release, found in releases.items() if name in found])}"
        for name in names
    ]
    head = '{"made_by": "scripts/import_plugin_classes.py", "classes": {\n'
    return head + ",\n".join(lines) + "\n}}\n"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER… (kafka-VERSION with its jars, oldest first)")
    main([Path(argument) for argument in sys.argv[1:]])
