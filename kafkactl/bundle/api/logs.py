"""The metadata logs of a bundle: what they come to, and, if it is asked for, themselves without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from kafkactl.bundle.manifest import SavedLog
from kafkactl.bundle.parts import Part
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_LOG, METADATA_VERSION
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.metadata.api.image import image_summary, lint, load_image
from kafkactl.metadata.api.places import says_empty
from kafkactl.metadata.api.verify import LogVerification, compare_logs
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.io.check import read_node_log
from kafkactl.metadata.io.source import LogFile, LogSource, log_folder, open_source, without_links
from kafkactl.metadata.log.redact import Replacements, redact_runs
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.schema.spec import Versions
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.io.node_files import read_node
from kafkactl.storage.model import QUORUM_STATE

if TYPE_CHECKING:
    from kafkactl.bundle.api.sources import Sources
    from kafkactl.bundle.io.writing import StagedMembers
    from kafkactl.protocol.catalog.releases import Release

PROBLEMS, EMPTY, SOUND = 7, 6, 0
"""Exit codes as the commands of the same names end with them."""
_IMAGE: Final = "log.image"
_LINT: Final = "log.lint"


@frozen
class OpenedLog:
    """A log that can be read: `path` is where, `source` with the names that are shown, `title` that of the whole."""

    number: int
    title: str
    path: str
    source: LogSource


class Logs:
    """The logs of all sources. A live one is fetched once, into a folder that is there while the context lasts."""

    def __init__(self, sources: Sources, release: Release, staged: StagedMembers, *, include: bool) -> None:
        self._sources = sources
        self._release = release
        self._staged = staged
        self._include = include
        self._replacements = Replacements()
        self._stack = ExitStack()
        self.opened: list[OpenedLog] = []
        self.saved: list[SavedLog] = []
        self.releases: set[str] = set()

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def answers(self, part: Part) -> Iterator[tuple[str, str, Mapping[str, Any], int]]:
        """Yield kind, name, answer and exit code of each answer about a log: its image and its contradictions."""
        log = self._open(part)
        loaded = load_image(log.source)
        self.releases |= set(_releases(loaded.image))
        # With all else known, a checksum over secrets would be a way to try guesses of them.
        sha256 = image_sha256(load_image(self._redacted(log.source)).image)
        shown = changed(image_summary(loaded), sha256=sha256).to_dict()
        yield _IMAGE, f"{_IMAGE}-{log.number}", shown, _code(loaded.findings)
        found = lint(load_image(log.source, whole=True), log.source)
        yield _LINT, f"{_LINT}-{log.number}", found.to_dict(), _code(found.findings)
        if self._include:
            self.saved.append(self._save(log))
        self.opened.append(log)

    def verify(self) -> tuple[LogVerification, int]:
        """Verify the readable logs, and compare them. Raise InputError if there is none."""
        if not self.opened:
            raise InputError("no metadata log could be read, so there is none to verify", id="no-metadata-log")
        found = compare_logs([changed(read_node_log(log.path), path=log.title) for log in self.opened])
        return found, PROBLEMS if found.has_problems else EMPTY if found.is_empty else SOUND

    def _open(self, part: Part) -> OpenedLog:
        assert part.number is not None
        path, title = self._place(part)
        source = without_links(open_source(path))
        if path != title:
            folder = str(Path(log_folder(path) or path))
            source = changed(
                source,
                name=title,
                segments=tuple(changed(file, name=file.name.replace(folder, title, 1)) for file in source.segments),
                checkpoints=tuple(
                    changed(file, name=file.name.replace(folder, title, 1)) for file in source.checkpoints
                ),
            )
        return OpenedLog(number=part.number, title=title, path=path, source=source)

    def _place(self, part: Part) -> tuple[str, str]:
        """Return the path and the name of a part's log."""
        if part.source is None:
            from kafkactl.metadata.io.live import saved_log

            assert self._sources.client is not None
            return self._stack.enter_context(saved_log(self._sources.client)), self._sources.client_name
        if not part.is_config:
            return part.source, part.source
        node = read_node(part.source, self._release, "the configuration")
        place = str(Path(node.metadata_log_dir) / METADATA_LOG)
        return place, place

    def _redacted(self, source: LogSource) -> LogSource:
        """Return the log without its secrets, redacted while it is read."""

        def without_secrets(file: LogFile) -> LogFile:
            return changed(
                file, pieces=lambda: redact_runs(walk_runs(file.pieces(), file=file.name), self._replacements)
            )

        return changed(
            source,
            segments=tuple(map(without_secrets, source.segments)),
            checkpoints=tuple(map(without_secrets, source.checkpoints)),
        )

    def _save(self, log: OpenedLog) -> SavedLog:
        """Return the log itself, without what is secret in it; which of its bytes were replaced is counted."""
        before = self._replacements.counts.copy()
        root = f"logs/{log.number}"
        for file in self._redacted(log.source).files(checkpoints=True):
            self._staged.add(f"{root}/{METADATA_LOG}/{PurePosixPath(file.name).name}", file.pieces())
        folder = Path(log_folder(log.path) or Path(log.path).parent)
        for small, kind, name in (
            (folder / QUORUM_STATE, InputKind.QUORUM_STATE, f"{root}/{METADATA_LOG}/{QUORUM_STATE}"),
            (folder.parent / META_PROPERTIES, InputKind.META_PROPERTIES, f"{root}/{META_PROPERTIES}"),
        ):
            if os.path.lexists(small):
                self._staged.add(name, (_without_comments(_small(small, kind)),))
        return SavedLog(
            number=log.number,
            source=log.title,
            folder=f"{root}/{METADATA_LOG}",
            cluster_id=log.source.cluster_id,
            replaced=dict(sorted((self._replacements.counts - before).items())),
        )


def _small(path: Path, kind: InputKind) -> bytes:
    """Return a small file of the log directory, which another user may have replaced by a link to any other."""
    try:
        return read_whole(path, kind, follow=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", id="input-file-unreadable") from error


def _without_comments(data: bytes) -> bytes:
    """Return a properties file that Kafka wrote without its comments: only its values are known to be ids and
    epochs."""
    return b"".join(line for line in data.splitlines(keepends=True) if not line.lstrip().startswith((b"#", b"!")))


def _releases(image: Image) -> Iterator[str]:
    """Yield the releases that registered nodes run, by the levels of metadata.version that they support."""
    nodes = [
        *(node.features for node in image.controllers.values()),
        *(node.features for node in image.brokers.values()),
    ]
    for features in nodes:
        levels = features.get(METADATA_VERSION)
        found = None if levels is None else release_of(Versions(levels.min, levels.max))
        if found is not None:
            yield found.name


def _code(findings: tuple[Finding, ...]) -> int:
    if blockers(findings):
        return PROBLEMS
    return EMPTY if says_empty(findings) else SOUND
