"""Draws docs/pictures/terminal.svg: a terminal in which real commands really ran. `make docs`.

Each command runs on a terminal of 100 columns; what it printed, colours and all, is set as SVG by rich.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from io import StringIO
from pathlib import Path

from scripts.terminal_capture import on_a_terminal

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
PICTURE = FOLDER / "terminal.svg"
PROGRAM = Path(sys.executable).with_name("kafkactl")
COLUMNS = 100
KAFKA = "4.3.1"
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
# Two disks of one controller. The path is short because it is printed, and outside /tmp, which gives a warning.
DISKS = Path(os.environ.get("KAFKACTL_PICTURE_DISKS", "/srv/kafka"))
CONFIG = """process.roles=controller
node.id=1
controller.quorum.bootstrap.servers=controller-1:9093
controller.listener.names=CONTROLLER
listeners=CONTROLLER://controller-1:9093
metadata.log.dir={disks}/fast/metadata
log.dirs={disks}/disk1/data
"""


def main() -> None:
    """Run the scene, write the picture, leave nothing behind."""
    if DISKS.exists():
        sys.exit(f"error: {DISKS} exists; it is where the picture is taken. Remove it first.")
    try:
        DISKS.mkdir(parents=True)
    except OSError as trouble:
        sys.exit(f"error: {DISKS}: {trouble.strerror}. Name a folder that you may make: KAFKACTL_PICTURE_DISKS.")
    try:
        text = "\n".join(scene(DISKS))
    finally:
        shutil.rmtree(DISKS)
    PICTURE.write_text(svg(text), encoding="utf-8")


def scene(folder: Path) -> list[str]:
    """Return a format, its proof, and a disk that did not mount: each command and what it printed."""
    (folder / "controller-1.properties").write_text(CONFIG.format(disks=folder), encoding="utf-8")
    arguments = f"-t {CLUSTER_ID} -c controller-1.properties --kafka-version {KAFKA}"
    shots = [
        shot(f"kafkactl storage format {arguments} --standalone", folder),
        shot(f"kafkactl storage verify -c controller-1.properties --kafka-version {KAFKA}", folder),
    ]
    shutil.rmtree(folder / "fast" / "metadata")
    (folder / "fast" / "metadata").mkdir()
    shots.append(shot(f"kafkactl storage format {arguments} --standalone -g", folder, comment="# fast/ did not mount"))
    return shots


def shot(command: str, folder: Path, *, comment: str = "") -> str:
    """Return a command line and what it prints on a terminal in this folder."""
    said = f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m  \x1b[2m{comment}\x1b[0m"
    _, text = on_a_terminal([str(PROGRAM), *command.split()[1:]], folder=folder, columns=COLUMNS)
    return f"{said}\n{text}"


def svg(text: str) -> str:
    """Return a terminal with this text, with its colours, as a picture that asks no other server for a font."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="kafkactl", unique_id="kafkactl")
    return re.sub(r"@font-face\s*{.*?}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    main()
