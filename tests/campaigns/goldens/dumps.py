"""Maker of `tests/golden/dumps/`: what Kafka's own dump tool prints of captured logs, as input of filters.

`python -m tests.campaigns.goldens.dumps` writes them again. The captures do not change, so neither does the text but
for what a newer release of the tool prints otherwise.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from tests.lab.harness import releases
from tests.lab.harness.storage_tool import StorageToolServer
from tests.metadata.goldens import DUMPS, GOLDEN


def main() -> None:
    """Dump each of the captures with the newest tool and keep the text, gzipped."""
    with StorageToolServer() as tool, tempfile.TemporaryDirectory() as folder:
        for capture, kept in DUMPS.items():
            file = Path(folder) / "00000000000000000000.log"
            file.write_bytes(gzip.decompress((GOLDEN / capture).read_bytes()))
            printed = tool.dump(releases.NEWEST_WITH_TOOLS, ["--cluster-metadata-decoder", "--files", file])
            if printed.exit_code or "Error" in printed.stderr:
                raise SystemExit(f"{capture}: {printed.stderr}")
            (GOLDEN / kept).parent.mkdir(exist_ok=True)
            (GOLDEN / kept).write_bytes(gzip.compress(printed.stdout.replace(f"{folder}/", "").encode(), mtime=0))


if __name__ == "__main__":
    main()
