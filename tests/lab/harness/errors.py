"""Errors of the lab itself, as opposed to the product that it tests."""

from __future__ import annotations

DEBIAN_PACKAGES = "default-jdk-headless maven"


class LabError(Exception):
    """The lab could not do its own part; says what was missing or found, and what to try."""


class JavaMissing(LabError):
    """Missing Java of the needed version."""


class MavenMissing(LabError):
    """``mvn`` is not on the PATH and the wanted jars are not in the cache."""


class ResolutionFailed(LabError):
    """Maven ran, repeatedly, and did not deliver the jars."""


class ProcessFailed(LabError):
    """A process of the lab ended, or did not become ready, where it had to."""
