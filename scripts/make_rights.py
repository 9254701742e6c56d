"""Writer of the table of rights in docs/clusters.md from schemas/rights.toml: `make docs`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafkactl.protocol.schema.rights import CommandRights, command_rights, request_rights

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "clusters.md"
_HEAD: Final = "| command | on the cluster, to read | on the cluster, to change | on topics |\n|---|---|---|---|\n"
_TABLE: Final = re.compile(rf"(?s)(?<={re.escape(_HEAD)}).*?(?=\n\n)")


def page() -> str:
    """Return the page with the table that the rows give."""
    lines = "\n".join(map(_line, command_rights()))
    return _TABLE.sub(lambda _: lines, PAGE.read_text(encoding="utf-8"), count=1)


def _line(row: CommandRights) -> str:
    names = ", ".join(f"`{name}`" for name in row.names)
    return f"| {names} | {_rights(row.answer)} | {_rights(row.change)} | {', '.join(row.topics)} |"


def _rights(requests: Iterable[str]) -> str:
    """Return the operations, each once; one that controllers alone ask for is marked."""
    found: dict[str, bool] = {}
    for needed in (request_rights()[name] for name in requests):
        is_partial = needed.request == "DescribeCluster"
        found[needed.right.operation] = found.get(needed.right.operation, True) and is_partial
    return ", ".join(f"{operation} (at controllers)" if partial else operation for operation, partial in found.items())


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
