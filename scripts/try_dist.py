"""Installs the wheel of a folder in an environment of its own and tries it: `python -m scripts.try_dist dist`.

Dependencies are those of requirements/kafkactl.txt, fetched from the index under their hashes; with
`--installed-dependencies` those of this environment, for a machine without an index. Nothing of the checkout is
on the path of what is tried: no editable installation, no working directory, no variable of the environment.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
LOCKED: Final = ROOT / "requirements" / "kafkactl.txt"
# ZooKeeper's tree and the metadata log of a real cluster.
CAPTURED: Final = ROOT / "tests" / "golden" / "migrations" / "3.9.2"
EMPTY_LOG: Final = "remote/__remote_log_metadata-0/00000000000000000000.log"
LOG: Final = "log/00000000000000000000.log"
CONFIG: Final = """\
process.roles=controller
node.id=1
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT
listeners=CONTROLLER://127.0.0.1:9093
controller.quorum.bootstrap.servers=127.0.0.1:9093
log.dirs={disk}
"""
OBSERVATION: Final = {
    "kind": "roll.observation",
    "schema_version": 1,
    "time_ms": 1_700_000_000_000,
    "cluster_id": "4L6g3nShT-eMCtK--X86sw",
    "nodes": [{"id": 1, "roles": ["controller"], "alive": True, "release": "4.3.1"}],
}
FORMAT: Final = "storage format -t 4L6g3nShT-eMCtK--X86sw -c controller.properties -s --kafka-version 4.3.1"
# One command of each group that does its work without a cluster, its exit code, and a field of its answer.
TRIED: Final = (
    ("--version", 0, None),
    (f"{FORMAT} -o json", 0, "kind"),
    ("storage verify -c controller.properties --kafka-version 4.3.1 -o json", 0, "will_start"),
    ("features version-mapping --release-version 4.3 -o json", 0, "kind"),
    ("quorum describe --log-dir disk -o json", 7, "voters"),
    ("nodes verify --config controller.properties -o json", 4, "settings"),
    (f"log image {LOG} -o json", 0, "image"),
    (f"dryrun replay {LOG} --html replay.html -o json", 0, "verdict"),
    ("migrate status --observation observation -o json", 0, "state"),
    ("roll status --observation roll -o json", 0, "phase"),
    ("tiered segments remote -o json", 6, "segments"),
    ("demo --scene wedge --scene mount -o json", 0, "scenes"),
    ("config set local --bootstrap-server 127.0.0.1:9092 -o json", 0, "kind"),
    ("config view -o json", 0, "contexts"),
)
# Every explanation and every schema, through the commands that print them, in one process.
EACH: Final = """
import contextlib, io, json
from kafkactl.commands.main import main
def answer(*words):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        code = main([*words, "-o", "json"])
    assert code == 0, (words, code)
    return json.loads(out.buffer.getvalue())
ids = [entry["id"] for entry in answer("explain", "--list")["explanations"]]
kinds = [entry["name"] for entry in answer("schema", "--list")["kinds"]]
for id in ids:
    assert answer("explain", id)["id"] == id
for kind in kinds:
    answer("schema", kind)
print(json.dumps({"ids": len(ids), "kinds": len(kinds)}))
"""


class TrialError(Exception):
    """Difference between what was installed and the checkout."""


def try_wheel(wheel: Path, folder: Path, *, installed_dependencies: bool = False) -> Iterator[str]:
    """Install a wheel into `folder`/venv and yield a line for each thing that works. Raises TrialError."""
    python = _environment(folder / "venv", installed_dependencies=installed_dependencies)
    _run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)], folder)
    where = _run([python, "-c", "import kafkactl; print(kafkactl.__file__)"], folder).stdout.strip()
    if not Path(where).is_relative_to(folder / "venv"):
        raise TrialError(f"kafkactl is imported from {where}, not from the wheel")
    (folder / "controller.properties").write_text(CONFIG.format(disk=folder / "disk"), encoding="utf-8")
    shutil.copytree(CAPTURED, folder / "observation")
    (folder / LOG).parent.mkdir()
    (folder / EMPTY_LOG).parent.mkdir(parents=True)
    (folder / EMPTY_LOG).touch()
    (folder / LOG).write_bytes(gzip.decompress((CAPTURED / "metadata.log.gz").read_bytes()))
    (folder / "roll").mkdir()
    (folder / "roll" / "observation.json").write_text(json.dumps(OBSERVATION), encoding="utf-8")
    program = python.with_name("kafkactl")
    for words, code, field in TRIED:
        run = _run([program, *words.split()], folder, code=code)
        if field is not None and field not in json.loads(run.stdout):
            raise TrialError(f"kafkactl {words}: no {field!r} in the answer: {run.stdout[:500]}")
        yield f"kafkactl {words}"
    if shutil.which("man") is not None:
        yield _manual(program.parent, folder)
    yield f"all explanations and schemas: {_run([python, '-c', EACH], folder).stdout.strip()}"


def _manual(programs: Path, folder: Path) -> str:
    """Look a page up as a user does whose PATH has the folder of the program, and no other setting."""
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    words = ["man", "--pager=cat", "kafkactl-storage-format"]
    run = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    if run.returncode or "Format" not in run.stdout or "EXIT STATUS" not in run.stdout:
        raise TrialError(f"{' '.join(words)} ended with {run.returncode}:\n{run.stdout[:500]}{run.stderr}")
    return " ".join(words)


def _environment(place: Path, *, installed_dependencies: bool) -> Path:
    """Return a fresh virtual environment with the dependencies and without kafkactl; its Python."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    if installed_dependencies:
        (library,) = place.glob("lib/python*/site-packages")
        # Files like this one inside that folder, such as an editable installation's, are not read.
        (library / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    else:
        options = ["--require-hashes", "--only-binary", ":all:", "--disable-pip-version-check"]
        _run([python, "-m", "pip", "install", "-q", *options, "-r", str(LOCKED)], place)
    return python


def _run(command: list[Path | str], folder: Path, *, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    words = [str(word) for word in command]
    run = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    if run.returncode != code:
        raise TrialError(f"{' '.join(words)} ended with {run.returncode}, not {code}:\n{run.stdout}{run.stderr}")
    return run


def main(arguments: list[str]) -> None:
    """Try the only wheel in the folder that is named."""
    flags = {word for word in arguments if word.startswith("--")}
    folders = [word for word in arguments if word not in flags]
    wheels = sorted(Path(folders[0]).glob("*.whl")) if len(folders) == 1 else []
    if len(wheels) != 1 or flags - {"--installed-dependencies"}:
        sys.exit("usage: python -m scripts.try_dist [--installed-dependencies] DIST, a folder with one wheel")
    with tempfile.TemporaryDirectory(prefix="kafkactl-dist-") as folder:
        try:
            for line in try_wheel(wheels[0].resolve(), Path(folder).resolve(), installed_dependencies=bool(flags)):
                print(line)
        except TrialError as error:
            sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
