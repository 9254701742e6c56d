"""Java sources of the lab, compiled at first use by the Eclipse compiler: one jar from Maven, and no JDK needed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.lab.harness import cache, java, maven
from tests.lab.harness.errors import LabError
from tests.lab.harness.releases import Coordinates

COMPILER = Coordinates("org.eclipse.jdt", "ecj", "3.38.0")


def compiled(name: str, sources: Sequence[Path], *, class_path: str = "") -> Path:
    """Return the folder ``name`` of the cache with the classes of ``sources``, compiled for Java 17."""
    content = b"".join(source.read_bytes() for source in sources)
    made_from = f"{COMPILER} {hashlib.sha256(content).hexdigest()} {class_path}"
    jar = maven.resolved(f"ecj-{COMPILER.version}", [COMPILER]) / f"ecj-{COMPILER.version}.jar"

    def fill(work: Path, target: Path) -> None:
        command = [str(java.java_binary()), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-jar", str(jar)]
        command += ["-source", "17", "-target", "17", "-proc:none", "-nowarn", "-d", str(target)]
        command += ["-cp", class_path] if class_path else []
        run = subprocess.run(
            [*command, *map(str, sources)],
            cwd=work,
            env=java.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise LabError(f"{name} does not compile:\n{run.stdout}{run.stderr}")

    return cache.folder(name, made_from, fill)
