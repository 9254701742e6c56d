"""Import of schemas/config/resources.json: the configurations of topics, groups and client metrics.

Those of brokers are in server.json; only what can be set on a broker, but not in its server.properties, is added here.

    python scripts/import_resource_configs.py ~/.cache/kafkactl-lab/kafka-3.3.2 … ~/.cache/kafkactl-lab/kafka-4.4.0

Each folder holds the jars of one release. Needs a JDK. A key has one row: a configuration that some release defines as
a password is one in all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(__file__).with_name("ResourceConfigs.java")
TARGET = ROOT / "schemas" / "config" / "resources.json"
SERVER = ROOT / "schemas" / "config" / "server.json"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_PASSWORD = "PASSWORD"

Types = dict[str, dict[str, str]]


def main(folders: Sequence[Path]) -> None:
    """Write the table of the releases in the folders."""
    found = merged(types("java", folder) for folder in folders)
    for row in json.loads(SERVER.read_text(encoding="utf-8"))["keys"]:
        found["broker"].pop(row["name"], None)
    TARGET.write_text(rendered(found), encoding="utf-8")


def types(java: str, jars: Path) -> Types:
    """Return the type of every configuration of the release in the folder, by kind of resource and name."""
    command = [java, *_JVM, "-cp", f"{jars}/*", str(SOURCE)]
    return parsed(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def parsed(printed: str) -> Types:
    """Return what ResourceConfigs.java prints."""
    return merged({kind: {name: type_}} for kind, name, type_ in map(str.split, printed.splitlines()))


def merged(releases: Iterable[Mapping[str, Mapping[str, str]]]) -> Types:
    """Return all of them as one; the last release decides on a type, unless another one says that it is a password."""
    found: Types = {}
    for release in releases:
        for kind, named in release.items():
            known = found.setdefault(kind, {})
            known |= {name: type_ for name, type_ in named.items() if known.get(name) != _PASSWORD}
    return found


def rendered(found: Types) -> str:
    """Return the table as JSON, one line a key."""
    kinds = (f"{json.dumps(kind)}: {{\n{_lines(named)}}}" for kind, named in sorted(found.items()))
    return '{"made_by": "scripts/import_resource_configs.py", "types": {\n' + ",\n".join(kinds) + "\n}}\n"


def _lines(named: Mapping[str, str]) -> str:
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(named[name])}" for name in sorted(named))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER… (kafka-VERSION with its jars, oldest first)")
    main([Path(argument) for argument in sys.argv[1:]])
