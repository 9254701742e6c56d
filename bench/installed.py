"""An installed wheel to measure: an editable install starts slower, and what users have is the wheel.

Several runs may measure at once, also of different trees: each content of the wheel has a virtual environment of its
own, which is not removed while a process that asked for it runs. They are not in build/, which `make dist` removes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".bench"
_DIGEST_LETTERS = 12
_held: dict[Path, int] = {}


def installed_bin() -> Path:
    """Return the `bin` folder of a virtual environment with the wheel of this tree; build it if there is none yet."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wheel = _built_wheel()
        place = HOME / f"venv-{_content_digest(wheel)[:_DIGEST_LETTERS]}"
        _hold(place)
        _remove_unused()
        _install(str(wheel), place)
    return place / "bin"


def _hold(place: Path) -> None:
    """Keep a lock on this environment for as long as this process lives."""
    if place not in _held:
        descriptor = os.open(_lock_of(place), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        _held[place] = descriptor


def _remove_unused() -> None:
    """Remove the environments that no running process has locked."""
    for place in HOME.glob("venv-*"):
        if not place.is_dir() or place in _held:
            continue
        with _lock_of(place).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(place)
            _lock_of(place).unlink()


def _install(what: str, place: Path) -> None:
    mark = place / "complete"
    if mark.exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(place))
    _run(str(place / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", what)
    if not (place / "bin" / "kafkactl").is_file():
        raise RuntimeError(f"{place} has no bin/kafkactl after `pip install {what}`")
    mark.touch()


def _run(*command: str) -> None:
    """Raise RuntimeError with the output of the command if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout[-4_000:]}")


def _lock_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.lock")


def _built_wheel() -> Path:
    shutil.rmtree(HOME / "dist", ignore_errors=True)
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", str(HOME / "dist"), str(ROOT))
    (wheel,) = (HOME / "dist").glob("*.whl")
    return wheel


def _content_digest(wheel: Path) -> str:
    """Return a digest of names and checksums, so that two builds of one tree are one."""
    with zipfile.ZipFile(wheel) as archive:
        listed = sorted((entry.filename, entry.CRC) for entry in archive.infolist())
    return hashlib.sha256(repr(listed).encode()).hexdigest()
