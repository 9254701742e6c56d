"""A program of tests/lab/java that runs next to a cluster, with the clients of that cluster's release."""

from __future__ import annotations

from pathlib import Path

from tests.lab.harness import java, maven
from tests.lab.harness.compiler import compiled
from tests.lab.harness.storage_tool import JVM_OPTIONS, logging_options


def java_program(release: str, source: Path, *arguments: str) -> list[str]:
    """Return the command that runs the class of ``source`` (package ``kafkactl.lab``), compiled for ``release``."""
    class_path, name = maven.class_path(release), source.stem
    classes = compiled(f"{name.lower()}-{release}", [source], class_path=class_path)
    options = [*JVM_OPTIONS, *logging_options("tools"), "-cp", f"{classes}:{class_path}"]
    return [str(java.java_binary()), *options, f"kafkactl.lab.{name}", *arguments]


def counts_of(text: str) -> dict[str, int]:
    """Return the ``name=number`` pairs that such a program printed."""
    pairs = (pair.partition("=") for pair in text.split())
    return {name: int(value) for name, _, value in pairs if value.isdigit()}
