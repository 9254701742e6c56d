"""An installed wheel to measure: an editable install starts slower, and what users have is the wheel."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "bench"


def installed_bin() -> Path:
    """The `bin` folder of a virtual environment with the wheel of this tree; built again when the tree changed."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install()
    return HOME / "venv" / "bin"


def _install() -> None:
    mark = HOME / "wheel.sha256"
    wheel = _built_wheel()
    digest = _content_digest(wheel)
    if not mark.exists() or mark.read_text() != digest:
        shutil.rmtree(HOME / "venv", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
        pip = [str(HOME / "venv/bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, str(wheel)], check=True)
        mark.write_text(digest)


def _built_wheel() -> Path:
    shutil.rmtree(HOME / "dist", ignore_errors=True)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(HOME / "dist"), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (wheel,) = (HOME / "dist").glob("*.whl")
    return wheel


def _content_digest(wheel: Path) -> str:
    """Of names and checksums, so that two builds of one tree are one."""
    with zipfile.ZipFile(wheel) as archive:
        listed = sorted((entry.filename, entry.CRC) for entry in archive.infolist())
    return hashlib.sha256(repr(listed).encode()).hexdigest()
