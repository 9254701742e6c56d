"""Jars of Kafka releases, resolved by Maven once and kept in a cache outside the tree.

The law: a folder ``kafka-RELEASE`` in the cache is either absent or complete. Maven copies into a folder of
another name, a marker that says what was asked for is written last, and only then is the folder renamed. One
lock for the whole cache lets one process resolve at a time; the others find the result.

``python -m tests.lab.maven [RELEASE...]`` fetches ahead of time.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

from tests.lab import java, releases
from tests.lab.errors import DEBIAN_PACKAGES, MavenMissing, ResolutionFailed
from tests.lab.releases import Coordinates

ATTEMPTS = 3
ATTEMPT_TIMEOUT_S = 600
MARKER = ".complete"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


def cache_root() -> Path:
    """The lab's cache: ``KAFKACTL_LAB_CACHE``, else ``~/.cache/kafkactl-lab``; made if absent."""
    named = os.environ.get("KAFKACTL_LAB_CACHE")
    root = Path(named) if named else Path.home() / ".cache" / "kafkactl-lab"
    root.mkdir(parents=True, exist_ok=True)
    return root


def jars(release: str) -> Path:
    """The folder with every jar of a Kafka release, resolved if it is not there yet.

    Raises ``MavenMissing`` or ``JavaMissing`` (with the packages to install) and ``ResolutionFailed``.
    """
    row = releases.release(release)
    return resolved(f"kafka-{release}", row.coordinates, row.excluded)


def class_path(release: str) -> str:
    """All jars of a release as a ``-cp`` argument, in a fixed order."""
    return os.pathsep.join(str(jar) for jar in sorted(jars(release).glob("*.jar")))


def resolved(name: str, wanted: Sequence[Coordinates], excluded: Sequence[str] = ()) -> Path:
    """The folder ``name`` of the cache with the ``wanted`` artifacts and all they need at run time.

    ``excluded`` are artifact ids of ``org.apache.kafka`` left out of what the artifacts ask for.
    """
    target = cache_root() / name
    pom = _pom(wanted, excluded)
    if _is_complete(target, pom):
        return target
    with _locked(cache_root() / ".resolving.lock"):
        if not _is_complete(target, pom):
            _resolve_into(target, pom)
    return target


def _is_complete(target: Path, pom: str) -> bool:
    """Whether the folder was made from the very same wishes."""
    try:
        return (target / MARKER).read_text(encoding="utf-8") == pom
    except OSError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _resolve_into(target: Path, pom: str) -> None:
    """Fill ``target`` in one rename. Holding the lock, so leftovers of killed runs can go."""
    for leftover in target.parent.glob(".resolving-*"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
    work = Path(tempfile.mkdtemp(prefix=".resolving-", dir=target.parent))
    try:
        (work / "pom.xml").write_text(pom, encoding="utf-8")
        _run_maven(work, work / "jars")
        (work / "jars" / MARKER).write_text(pom, encoding="utf-8")
        if target.exists():
            target.rename(work / "replaced")
        (work / "jars").rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run_maven(work: Path, into: Path) -> None:
    binary = shutil.which("mvn")
    if binary is None:
        raise MavenMissing(
            f"the lab resolves Kafka's jars with mvn, which is not on the PATH: install the Debian packages "
            f"{DEBIAN_PACKAGES}, or point KAFKACTL_LAB_CACHE at a filled cache"
        )
    command = [binary, "-q", "-B", "-f", str(work / "pom.xml"), f"{DEPENDENCY_PLUGIN}:copy-dependencies"]
    command += [f"-DoutputDirectory={into}", "-DincludeScope=runtime"]
    said = ""
    for _ in range(ATTEMPTS):
        said = _attempt(command, work)
        if not said:
            return
        shutil.rmtree(into, ignore_errors=True)
    raise ResolutionFailed(f"mvn failed {ATTEMPTS} times to resolve {_names(work)}; it last said:\n{said}")


def _attempt(command: Sequence[str], work: Path) -> str:
    """Run Maven once; empty if it worked, else the end of what it said."""
    try:
        run = subprocess.run(
            command, cwd=work, env=java.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=ATTEMPT_TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end after {ATTEMPT_TIMEOUT_S} s"
    if run.returncode != 0:
        return run.stdout[-4000:] or f"exit code {run.returncode} and nothing else"
    return "" if any((work / "jars").glob("*.jar")) else "exit code 0, but it copied no jar"


def _names(work: Path) -> str:
    lines = (work / "pom.xml").read_text(encoding="utf-8").splitlines()
    return ", ".join(line.split("<!--")[1].split("-->")[0].strip() for line in lines if "<!--" in line)


def _pom(wanted: Sequence[Coordinates], excluded: Sequence[str]) -> str:
    """A project that only has dependencies."""
    dependencies = "\n".join(_dependency(one, excluded) for one in wanted)
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafkactl.lab</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


def _dependency(wanted: Coordinates, excluded: Sequence[str]) -> str:
    exclusions = "".join(
        f"<exclusion><groupId>org.apache.kafka</groupId><artifactId>{escape(name)}</artifactId></exclusion>"
        for name in excluded
    )
    return (
        f"    <!-- {wanted.group}:{wanted.artifact}:{wanted.version} -->\n"
        f"    <dependency><groupId>{escape(wanted.group)}</groupId><artifactId>{escape(wanted.artifact)}"
        f"</artifactId><version>{escape(wanted.version)}</version>"
        f"<exclusions>{exclusions}</exclusions></dependency>"
    )


def main(arguments: Sequence[str]) -> None:
    """Fetch the named releases, or all, and say where they are."""
    for release in arguments or releases.VERSIONS:
        print(f"Kafka {release}: {jars(release)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
