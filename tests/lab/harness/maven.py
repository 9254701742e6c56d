"""Jars of Kafka releases, resolved by Maven once and kept in the lab's cache.

``python -m tests.lab.harness.maven [RELEASE...]`` fetches ahead of time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tests.lab.harness import cache, java, releases
from tests.lab.harness.errors import DEBIAN_PACKAGES, MavenMissing, ResolutionFailed
from tests.lab.harness.releases import Coordinates

ATTEMPTS = 3
ATTEMPT_TIMEOUT_S = 600
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

cache_root = cache.cache_root


def jars(release: str) -> Path:
    """Return the folder with every jar of a Kafka release, resolved if it is not there yet.

    Raises ``MavenMissing`` or ``JavaMissing`` (with the packages to install) and ``ResolutionFailed``.
    """
    row = releases.release(release)
    return resolved(f"kafka-{release}", row.coordinates, row.excluded)


def storage_test_jar(release: str) -> Path:
    """Return the jar with Kafka's LocalTieredStorage, of releases up to 4.3; what it needs a broker has."""
    wanted = Coordinates("org.apache.kafka", "kafka-storage", release, classifier="test")
    (found,) = resolved(f"kafka-storage-test-{release}", [wanted], ["*"]).glob("kafka-storage-*-test.jar")
    return found


def class_path(release: str) -> str:
    """Return all jars of a release as a ``-cp`` argument, in a fixed order."""
    return os.pathsep.join(str(jar) for jar in sorted(jars(release).glob("*.jar")))


def resolved(name: str, wanted: Sequence[Coordinates], excluded: Sequence[str] = ()) -> Path:
    """Return the folder ``name`` of the cache with the ``wanted`` artifacts and all they need at run time.

    ``excluded`` are artifact ids of ``org.apache.kafka`` left out of what the artifacts ask for; ``*`` is all of it.
    """
    pom = _pom(wanted, excluded)

    def fill(work: Path, target: Path) -> None:
        (work / "pom.xml").write_text(pom, encoding="utf-8")
        names = ", ".join(f"{artifact.group}:{artifact.artifact}:{artifact.version}" for artifact in wanted)
        _copy_dependencies(work, target, names)

    return cache.folder(name, pom, fill)


def _copy_dependencies(work: Path, target: Path, names: str) -> None:
    binary = shutil.which("mvn")
    if binary is None:
        raise MavenMissing(
            f"the lab resolves jars with mvn, which is not on the PATH: install the Debian packages "
            f"{DEBIAN_PACKAGES}, or point KAFKACTL_LAB_CACHE at a filled cache (wanted: {names})"
        )
    command = [binary, "-q", "-B", "-f", str(work / "pom.xml"), f"{DEPENDENCY_PLUGIN}:copy-dependencies"]
    command += [f"-DoutputDirectory={target}", "-DincludeScope=runtime"]
    said = ""
    for _ in range(ATTEMPTS):
        said = _attempt(command, work)
        if not said and any(target.glob("*.jar")):
            return
        shutil.rmtree(target, ignore_errors=True)
    said = said or "nothing, and copied no jar"
    raise ResolutionFailed(f"mvn failed {ATTEMPTS} times to resolve {names}; it last said:\n{said}")


def _attempt(command: Sequence[str], work: Path) -> str:
    """Run Maven once; empty if it worked, else the end of what it said."""
    try:
        run = subprocess.run(
            command, check=False, cwd=work, env=java.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=ATTEMPT_TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end after {ATTEMPT_TIMEOUT_S} s"
    return "" if run.returncode == 0 else run.stdout[-4000:] or f"exit code {run.returncode}"


def _pom(wanted: Sequence[Coordinates], excluded: Sequence[str]) -> str:
    """Return a project that only has dependencies."""
    dependencies = "\n".join(_dependency(artifact, excluded) for artifact in wanted)
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
        f"<exclusion><groupId>{'*' if name == '*' else 'org.apache.kafka'}</groupId>"
        f"<artifactId>{escape(name)}</artifactId></exclusion>"
        for name in excluded
    )
    classifier = f"<classifier>{escape(wanted.classifier)}</classifier>" if wanted.classifier else ""
    return (
        f"    <!-- {wanted.group}:{wanted.artifact}:{wanted.version} -->\n"
        f"    <dependency><groupId>{escape(wanted.group)}</groupId><artifactId>{escape(wanted.artifact)}"
        f"</artifactId><version>{escape(wanted.version)}</version>{classifier}"
        f"<exclusions>{exclusions}</exclusions></dependency>"
    )


def main(arguments: Sequence[str]) -> None:
    """Fetch the named releases, or all, and say where they are."""
    for release in arguments or releases.VERSIONS:
        print(f"Kafka {release}: {jars(release)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
