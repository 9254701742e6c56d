"""The answer of `kafkactl bundle`, and the documents in a bundle that no other command prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Outcome, Shape


class PartError(Shape):
    """Why a part was not gathered."""

    id: str
    message: str
    next_step: str


class BundlePart(Shape):
    """A part of a bundle and what became of it."""

    name: str = Field(description="The command that gives it, with a number where there are several.")
    about: str
    state: Literal["gathered", "failed"]
    exit_code: int | None = Field(description="The exit code of that command; null for a part that failed.")
    members: list[str] = Field(description="Its files in the archive.")
    error: PartError | None


class BundleLog(Shape):
    """A metadata log in a bundle."""

    number: int
    source: str = Field(description="Where the log was read.")
    folder: str = Field(description="Where it is in the archive.")
    cluster_id: str | None
    replaced: dict[str, int] = Field(
        description="What is not as the node has it: records of SCRAM credentials, ids of delegation tokens, values of "
        "configurations, and bytes that could not be read and were blanked."
    )


class Bundle(Answer):
    """`bundle`."""

    kind: Literal["bundle"]
    outcome: Outcome
    file: str | None = Field(description="Null, and nothing written, where no part could be gathered.")
    size: int | None
    sha256: str | None
    include_log: bool
    created_ms: int
    cluster_id: str | None = Field(description="Null where nothing shows it, or the parts show several.")
    parts: list[BundlePart]
    logs: list[BundleLog]
    findings: list[Finding]


class BundleMember(Shape):
    """A file in the archive."""

    path: str
    size: int
    sha256: str


class BundleManifest(Answer):
    """`manifest.json` in a bundle."""

    kind: Literal["bundle.manifest"]
    kafkactl_version: str
    created_ms: int
    cluster_id: str | None
    parts: list[BundlePart]
    logs: list[BundleLog]
    members: list[BundleMember] = Field(description="Every file but the manifest itself.")


class BundleVersions(Answer):
    """`answers/versions.json` in a bundle."""

    kind: Literal["bundle.versions"]
    kafkactl: str
    python: str
    os: str
    distribution: str | None
    machine: str
    packages: dict[str, str]
    kafka_releases: list[str] = Field(description="The releases that nodes registered in the metadata logs.")
