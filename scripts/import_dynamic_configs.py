"""Import of schemas/config/dynamic.json: where each setting of a running broker may be set, by release.

    python scripts/import_dynamic_configs.py ~/.cache/kafkactl-lab/kafka-3.3.2 … ~/.cache/kafkactl-lab/kafka-4.4.0

Each folder holds the jars of one release and is named kafka-VERSION; give one of each release, oldest first. Needs
a JDK. A key of server.json without a row is in no release dynamic. A row of a key that is not in server.json has its
type and its bounds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.import_server_config import Definitions, merged, release_of

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(__file__).with_name("DynamicConfigs.java")
TARGET = ROOT / "schemas" / "config" / "dynamic.json"
SERVER = ROOT / "schemas" / "config" / "server.json"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_BOUNDS = {"[0,...]": {"min": 0}}


def main(folders: Sequence[Path]) -> None:
    """Write the table of the releases in the folders."""
    in_files = {row["name"] for row in json.loads(SERVER.read_text(encoding="utf-8"))["keys"]}
    releases = {release_of(folder): scopes("java", folder, in_files) for folder in folders}
    head = f'{{"made_by": "scripts/import_dynamic_configs.py", "releases": {json.dumps(list(releases))}, "keys": [\n'
    rows = sorted(merged(releases), key=lambda row: row["name"])
    TARGET.write_text(head + ",\n".join(map(json.dumps, rows)) + "\n]}\n", encoding="utf-8")


def scopes(java: str, jars: Path, in_files: set[str]) -> Definitions:
    """Return the dynamic keys of the release in the folder. `in_files` are the keys that server.json defines."""
    command = [java, *_JVM, "-cp", f"{jars}/*", str(SOURCE)]
    return parsed(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout, in_files)


def parsed(printed: str, in_files: set[str]) -> Definitions:
    """Return what DynamicConfigs.java prints, by key, without keys that are not dynamic."""
    found: Definitions = {}
    for name, scope, *definition in (line.split("\t") for line in printed.splitlines()):
        if scope == "no":
            continue
        found[name] = {"scope": scope}
        if name not in in_files:
            type_, bounds = definition
            found[name] |= {"type": type_, "check": _BOUNDS[bounds]}
    return found


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER… (kafka-VERSION with its jars, oldest first)")
    main([Path(argument) for argument in sys.argv[1:]])
