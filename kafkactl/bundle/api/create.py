"""Creation of a bundle: plan its parts, gather each, and write them as one archive."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from kafkactl._version import __version__
from kafkactl.bundle.api.gather import Gatherer
from kafkactl.bundle.api.sources import Sources
from kafkactl.bundle.io.writing import StagedMembers, check_bundle_target, write_bundle
from kafkactl.bundle.manifest import Manifest, PartResult
from kafkactl.bundle.members import INDEX
from kafkactl.bundle.page import index_page
from kafkactl.bundle.parts import PartKind, plan_parts
from kafkactl.core.answers import json_of
from kafkactl.core.callbacks import NoteCallback, ignore_moment, ignore_note
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome, warning
from kafkactl.core.frozen import changed, frozen

_TIMEOUT_MS: Final = 480_000.0
_ALWAYS: Final = PartKind.VERSIONS.word


@frozen
class BundleResult:
    """A bundle that was written; `file` is None, and nothing written, where not one of its parts could be gathered."""

    file: str | None
    """None, and nothing written, if no part could be gathered."""
    size: int | None
    sha256: str | None
    include_log: bool
    manifest: Manifest
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Return `done`; `partial` if a part is missing; `unknown` if nothing was gathered."""
        if self.file is None:
            return Outcome.UNKNOWN
        return Outcome.DONE if all(part.is_gathered for part in self.manifest.parts) else Outcome.PARTIAL

    to_dict = json_of(
        "outcome", "file", "size", "sha256", "include_log", "created_ms=manifest.created_ms",
        "cluster_id=manifest.cluster_id", "parts=manifest.parts", "logs=manifest.logs", "findings",
        kind="bundle",
    )  # fmt: skip


def create_bundle(
    file: str | os.PathLike[str],
    sources: Sources,
    *,
    include_log: bool = False,
    force: bool = False,
    created_ms: int | None = None,
    timeout_ms: float = _TIMEOUT_MS,
    on_note: NoteCallback = ignore_note,
    on_gathered: Callable[[], None] = ignore_moment,
) -> BundleResult:
    """Gather what `sources` name, without secrets, and write it to `file`, a ZIP archive of mode 0600.

    A part that fails is part of the result. With `include_log` the metadata logs themselves are in it, with SCRAM keys,
    ids of delegation tokens and secret configuration values replaced, and what `tiered` reads. `force` replaces an
    earlier file; `created_ms` is the time in the manifest (default: now). The observation of a migration takes a fifth
    of `timeout_ms` at most, and so does a silent node in each part. `on_gathered` is called before the archive is
    written. Nothing of the cluster is changed.

    Raises InputError `bundle-of-nothing`, RefusedError `bundle-file-exists`, FailedError `bundle-not-written`,
    `bundle-not-staged`, `bundle-too-large`.
    """
    if sources.wanted.is_nothing:
        raise InputError("nothing is named to gather a bundle from", id="bundle-of-nothing")
    path = Path(file)
    check_bundle_target(path, force=force)  # before a cluster is asked for minutes
    with closing(StagedMembers()) as staged:
        gatherer = Gatherer(sources, staged, include_log=include_log, timeout_ms=timeout_ms)
        with gatherer.logs:
            for part in plan_parts(sources.wanted):
                on_note(part.name)
                gatherer.gather(part)
        on_gathered()
        now_ms = int(time.time() * 1000) if created_ms is None else created_ms
        manifest = Manifest(
            kafkactl_version=__version__,
            created_ms=now_ms,
            cluster_id=next(iter(gatherer.cluster_ids)) if len(gatherer.cluster_ids) == 1 else None,
            parts=tuple(gatherer.results),
            logs=tuple(gatherer.logs.saved),
        )
        findings = (*_missing(manifest.parts), *_several(gatherer.cluster_ids))
        result = BundleResult(
            file=None, size=None, sha256=None, include_log=include_log, manifest=manifest, findings=findings
        )
        if not any(part.is_gathered and part.name != _ALWAYS for part in manifest.parts):
            return result
        staged.add(INDEX, (index_page(changed(manifest, members=staged.members).to_dict(), gatherer.findings),))
        size, sha256 = write_bundle(path, staged, manifest, force=force)
        return changed(result, file=os.fspath(file), size=size, sha256=sha256)


def _missing(parts: tuple[PartResult, ...]) -> list[Finding]:
    return [
        warning(
            "part-not-gathered",
            part.name,
            f"{part.about}: {part.error.message}",
            part.error.next_step,
            reason=part.error.id,
        )
        for part in parts
        if part.error is not None
    ]


def _several(cluster_ids: set[str]) -> list[Finding]:
    if len(cluster_ids) < 2:
        return []
    text = f"the parts are of different clusters: {', '.join(sorted(cluster_ids))}"
    return [warning("bundle-of-several-clusters", "bundle", text, cluster_ids=sorted(cluster_ids))]
