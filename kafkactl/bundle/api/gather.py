"""Gathering of a bundle's parts, one by one: the failure of a part is written down, and the next is gathered."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict

from kafkactl._version import __version__
from kafkactl.bundle.api.logs import PROBLEMS, SOUND, Logs
from kafkactl.bundle.manifest import PartError, PartResult
from kafkactl.bundle.parts import Part, PartKind
from kafkactl.cluster.api.node_timeout import node_timeout_ms
from kafkactl.core.answers import plain_values
from kafkactl.core.errors import InputError, KafkactlError, limit_behind
from kafkactl.core.findings import blockers
from kafkactl.core.remedies import remedy_of
from kafkactl.core.safe_text import json_text
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.protocol.redact import redacted_text
from kafkactl.protocol.text.redact_config import redact_config
from kafkactl.storage.io.node_files import release_of

if TYPE_CHECKING:
    from kafkactl.bundle.api.sources import Sources
    from kafkactl.bundle.io.writing import StagedMembers
    from kafkactl.kafka.client import Client

ANSWERS: Final = "answers"
MIGRATION: Final = "migration"
TIERED: Final = "tiered"
_ANSWER_VERSION: Final = 1
_SHARE_OF_TIME: Final = 0.2  # for the observation of a migration
_OUT_OF_TIME: Final = "timed-out"
_PIECE_BYTES: Final = 1024 * 1024
_LIBRARIES: Final = ("click", "google-crc32c", "kazoo", "numpy", "pyarrow", "pydantic", "pyspark", "rich")


class Gatherer:
    """Collector of parts as members of `staged`. `results` has the outcome of each part; `cluster_ids` and `findings`
    (by the name of the part) what was found in them."""

    def __init__(self, sources: Sources, staged: StagedMembers, *, include_log: bool, timeout_ms: float) -> None:
        self._sources = sources
        self._staged = staged
        self._include_log = include_log
        self._timeout_ms = timeout_ms
        self.logs = Logs(sources, release_of(sources.kafka_version), staged, include=include_log)
        self.results: list[PartResult] = []
        self.cluster_ids: set[str] = set()
        self.findings: dict[str, list[dict[str, Any]]] = {}
        self._late: PartError | None = None
        self._unread: PartError | None = None

    def gather(self, part: Part) -> None:
        """Gather a part. What it raises becomes its result; an interruption by the operator ends everything."""
        if self._late is not None and part.kind is not PartKind.VERSIONS:
            self.results.append(PartResult(name=part.name, about=part.about, error=self._late))
            return
        before = len(self._staged)
        logs = len(self.logs.saved)
        try:
            code = _WAYS[part.kind](self, part)
        except Exception as error:  # a part that fails never ends the bundle
            self._staged.drop(self._new(before))
            self.findings.pop(part.name, None)
            del self.logs.saved[logs:]
            found = _error_of(limit_behind(error) or error)
            self._late = found if found.id == _OUT_OF_TIME else None
            if part.kind is PartKind.LOG:
                self._unread = self._unread or found
            self.results.append(PartResult(name=part.name, about=part.about, error=found))
        else:
            members = tuple(self._new(before))
            self.results.append(PartResult(name=part.name, about=part.about, members=members, exit_code=code))

    def _new(self, before: int) -> list[str]:
        return self._staged.newest(len(self._staged) - before)

    def _answer(self, part: Part, payload: Mapping[str, Any], kind: str | None = None, name: str | None = None) -> None:
        """Keep the answer of a part, which is of the kind `kind` (default: the part's word)."""
        kind, name = kind or part.kind.word, name or part.name
        answer = {"kind": kind, "schema_version": _ANSWER_VERSION, **plain_values(payload)}
        cluster_id = answer.get("cluster_id")
        if isinstance(cluster_id, str):
            self.cluster_ids.add(cluster_id)
        self.findings.setdefault(part.name, []).extend(answer.get("findings", ()))
        self._staged.add(f"{ANSWERS}/{name}.json", (json_text(answer, indent=1).encode() + b"\n",))

    def config(self, part: Part) -> int:
        """Return the configuration without secrets."""
        assert part.source is not None
        data = read_input(Path(part.source), "the configuration", InputKind.NODE_CONFIG)
        text = redact_config(data.decode("utf-8", "replace"))
        self._staged.add(f"configs/{part.number}.properties", (text.encode(),))
        return SOUND

    def storage_info(self, part: Part) -> int:
        """Add the content of the node's log directories, as `kafkactl storage info` reports it."""
        from kafkactl.storage.api.reading import node_info

        assert part.source is not None
        found = node_info(part.source, kafka_version=self._sources.kafka_version)
        self._answer(part, found.to_dict())
        return PROBLEMS if found.has_problems else SOUND

    def storage_verify(self, part: Part) -> int:
        """Add the result of `kafkactl storage verify` for the node."""
        from kafkactl.storage.api.reading import verify_node

        assert part.source is not None
        found = verify_node(part.source, kafka_version=self._sources.kafka_version)
        self._answer(part, found.to_dict())
        return PROBLEMS if found.has_problems else SOUND

    def log(self, part: Part) -> int:
        """Add the answers about a log, and the log itself if it is requested."""
        codes = [SOUND]
        for kind, name, payload, code in self.logs.answers(part):
            self._answer(part, payload, kind, name)
            codes.append(code)
        opened = self.logs.opened[-1].source.cluster_id
        self.cluster_ids |= set() if opened is None else {opened}
        return max(codes)

    def log_verify(self, part: Part) -> int:
        """Add the verification of all logs: each alone, and compared with the others."""
        if not self.logs.opened and self._unread is not None:
            text = f"no metadata log could be read, so there is none to verify: {self._unread.message}"
            raise InputError(text, id="no-metadata-log", next_step=self._unread.next_step)
        found, code = self.logs.verify()
        self._answer(part, found.to_dict())
        return code

    def quorum(self, part: Part) -> int:
        """Return the quorum as its nodes show it."""
        from kafkactl.quorum.api.observation import LEAST_NODE_TIMEOUT_MS, describe

        found = describe(self._client, node_timeout_ms=node_timeout_ms(LEAST_NODE_TIMEOUT_MS, self._timeout_ms))
        self._answer(part, found.to_dict())
        return PROBLEMS if found.is_broken else SOUND

    def features(self, part: Part) -> int:
        """Return the feature levels that all nodes report."""
        from kafkactl.features.api.description import describe

        self._answer(part, describe(self._client, timeout_ms=self._timeout_ms).to_dict())
        return SOUND

    def nodes(self, part: Part) -> int:
        """Return the nodes that are registered, vote or answer."""
        from kafkactl.cluster.api.list import list_nodes

        found = list_nodes(self._client, timeout_ms=self._timeout_ms)
        self._answer(part, found.to_dict())
        return SOUND

    @property
    def _client(self) -> Client:
        assert self._sources.client is not None
        return self._sources.client

    def migration(self, part: Part) -> int:
        """Return an observation, made now or saved earlier, without secrets."""
        from kafkactl.migration.api.observing import SavedObservation, capture
        from kafkactl.migration.io.observation_writer import save_observation
        from kafkactl.migration.io.saved_observation import load_captured, observation_from

        if self._sources.observation is not None:
            captured = load_captured(self._sources.observation)
        else:
            assert self._sources.inventory is not None
            captured = capture(self._sources.inventory, timeout_ms=_SHARE_OF_TIME * self._timeout_ms)
        with tempfile.TemporaryDirectory() as scratch:
            save_observation(f"{scratch}/{MIGRATION}", captured)
            self._take_folder(Path(scratch) / MIGRATION, MIGRATION)
        seen = SavedObservation(observation=observation_from(captured), folder=MIGRATION, include_secrets=False)
        self._answer(part, seen.to_dict())
        return SOUND

    def tiered(self, part: Part) -> int:
        """Return the audit, and with the logs what it was made from."""
        from kafkactl.tiered.api.verbs import audit, load, save

        assert self._sources.tiered is not None
        loaded = load(self._sources.tiered)
        found = audit(loaded)
        self._answer(part, {"html": None, **found.to_dict(), "details": None})
        if self._include_log:
            with tempfile.TemporaryDirectory() as scratch:
                save(loaded, f"{scratch}/{TIERED}")
                self._take_folder(Path(scratch) / TIERED, TIERED)
        return PROBLEMS if blockers(found.findings) else SOUND

    def versions(self, part: Part) -> int:
        """Add the versions on this host, and the observed releases of Kafka."""
        payload: BundleVersions = {**_this_host(), "kafka_releases": sorted(self.logs.releases)}
        self._answer(part, payload, "bundle.versions")
        return SOUND

    def _take_folder(self, folder: Path, name: str) -> None:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            self._staged.add(f"{name}/{path.relative_to(folder).as_posix()}", _pieces(path))


_WAYS: Final[Mapping[PartKind, Callable[[Gatherer, Part], int]]] = {
    PartKind.VERSIONS: Gatherer.versions,
    PartKind.CONFIG: Gatherer.config,
    PartKind.STORAGE_INFO: Gatherer.storage_info,
    PartKind.STORAGE_VERIFY: Gatherer.storage_verify,
    PartKind.LOG: Gatherer.log,
    PartKind.LOG_VERIFY: Gatherer.log_verify,
    PartKind.QUORUM: Gatherer.quorum,
    PartKind.FEATURES: Gatherer.features,
    PartKind.NODES: Gatherer.nodes,
    PartKind.MIGRATION: Gatherer.migration,
    PartKind.TIERED: Gatherer.tiered,
}


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _error_of(error: Exception) -> PartError:
    """Return an error for the bundle. The text of a foreign exception may contain secrets: only its type is kept."""
    match error:
        case KafkactlError():
            return PartError(id=error.id, message=redacted_text(error.message), next_step=redacted_text(error.advice))
        case _:
            id = "internal-error"
            return PartError(id=id, message=f"kafkactl failed: {type(error).__name__}", next_step=remedy_of(id))


class HostVersions(TypedDict):
    """Versions on the machine that made the bundle."""

    kafkactl: str
    python: str
    os: str
    distribution: str | None
    machine: str
    packages: dict[str, str]


class BundleVersions(HostVersions):
    """The document `bundle.versions`."""

    kafka_releases: list[str]
    """The releases that nodes registered in the metadata logs."""


def _this_host() -> HostVersions:
    from importlib.metadata import PackageNotFoundError, version

    packages = {}
    for name in _LIBRARIES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    system = os.uname()
    try:
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        distribution = None
    return {
        "kafkactl": __version__,
        "python": platform.python_version(),
        "os": f"{system.sysname} {system.release}",
        "distribution": distribution,
        "machine": system.machine,
        "packages": packages,
    }
