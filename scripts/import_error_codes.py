"""Import of schemas/errors.toml from the jars of one release of Kafka, the newest.

    python scripts/import_error_codes.py ~/.cache/kafkactl-lab/kafka-4.4.0

Needs a JDK: the codes are an enum in the client library, which tests/lab/java/KafkaFacts.java lists.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_HEADER = "# Kafka's error codes: name, and whether a client may try again. Made by scripts/import_error_codes.py.\n\n"


def main(jars: Path) -> None:
    """Write the table of the release in the folder."""
    (ROOT / "schemas" / "errors.toml").write_text(rendered(error_codes("java", jars)), encoding="utf-8")


def error_codes(java: str, jars: Path) -> list[tuple[int, str, bool]]:
    """Return every code of the release in the folder: number, name, retriable."""
    command = [java, "-Xmx128m", "-cp", f"{jars}/*", str(ROOT / "tests" / "lab" / "java" / "KafkaFacts.java")]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    lines = (line.split() for line in run.stdout.splitlines() if line.startswith("error "))
    return [(int(code), name, retriable == "true") for _, code, name, retriable in lines]


def rendered(codes: Iterable[tuple[int, str, bool]]) -> str:
    """Return the table as TOML, one line a code."""
    lines = [f'{code} = {{ name = "{name}", retriable = {str(retriable).lower()} }}' for code, name, retriable in codes]
    return _HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER (with the jars of one release)")
    main(Path(sys.argv[1]))
