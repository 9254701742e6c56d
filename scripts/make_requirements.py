"""Writer of requirements/*.txt, each dependency at one version with its hashes: `make requirements` (needs the index).

One file for the core and one for each extra, which holds the core, too; a file is all that one `pip install` needs.
All agree on their versions, for each is resolved under the versions of `dev.txt`. `build.txt` is what builds kafkactl,
and those dependencies that have no wheel. Versions hold for CPython 3.11 to 3.13 on Linux.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "requirements"
CORE: Final = "kafkactl"
FIRST: Final = "dev"
# File -> the extras of pyproject.toml that it has in addition to the core; all others are resolved under `dev`.
FILES: Final = {
    FIRST: ("dev",),
    CORE: (),
    "gssapi": ("gssapi",),
    "oauth": ("oauth",),
    "pkcs12": ("pkcs12",),
    "spark": ("spark",),
    "zookeeper-sasl": ("zookeeper-sasl",),
}
# pip fetches what builds a source archive without looking at hashes, so it is locked, too, and installed before.
BUILD: Final = ("setuptools>=77", "wheel", "cython>=3.1")


_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def locked(name: str) -> dict[Requirement, list[str]]:
    """Return what a file asks for, each with its version and marker, and the SHA-256 of every archive that may satisfy
    it."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    return {Requirement(line.partition("--hash")[0]): _HASH.findall(line) for line in wanted}


def head(name: str) -> str:
    """Return the first lines of a file: what it is for, and how it is renewed."""
    # An extra that has a source archive among its dependencies is built with what build.txt has installed.
    needs_build = name in ("spark", "gssapi", "dev")
    way = "--no-build-isolation" if needs_build else "--only-binary :all:"
    after = ", after build.txt" if needs_build else ""
    what = "what builds kafkactl and source archives" if name == "build" else f"kafkactl: {name}"
    return (
        f"# {what}. Renewed by `make requirements`; not edited by hand.\n"
        f"# pip install --require-hashes {way} -r requirements/{name}.txt{after}\n"
    )


def main() -> None:
    """Resolve all files for the newest versions that pyproject.toml allows."""
    FOLDER.mkdir(exist_ok=True)
    for name, extras in FILES.items():
        options = [word for extra in extras for word in ("--extra", extra)]
        if name != FIRST:
            options += ["--constraint", str(FOLDER / f"{FIRST}.txt")]
        _write(name, ["pyproject.toml", *options])
    _write("build", ["-"], "\n".join(BUILD))


def _write(name: str, words: list[str], text: str = "") -> None:
    command = [
        sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header",
        "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", *words,
    ]  # fmt: skip
    run = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
    if run.returncode:
        sys.exit(f"requirements/{name}.txt cannot be resolved:\n{run.stderr}")
    (FOLDER / f"{name}.txt").write_text(head(name) + run.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
