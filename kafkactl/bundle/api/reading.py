"""Contents of a bundle as input of other commands: stored answers, metadata logs, observations."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kafkactl.bundle.api.gather import ANSWERS, MIGRATION, TIERED
from kafkactl.bundle.io.reading import OpenBundle, open_bundle
from kafkactl.bundle.manifest import SavedLog
from kafkactl.core.errors import InputError
from kafkactl.metadata.io.source import LogSource
from kafkactl.metadata.log.fetched_folder import FETCHED

__all__ = [
    "OpenBundle",
    "bundle_log",
    "has_tiered_records",
    "open_bundle",
    "stored_answer",
    "stored_log_answer",
    "unpacked_logs",
    "unpacked_observation",
    "unpacked_tiered",
]

_VERIFY: Final = "log.verify"


def bundle_log(bundle: OpenBundle) -> LogSource:
    """Return the metadata log in a bundle; of several the best one, as `log verify` ranked them when the bundle was
    made.

    Raises InputError `bundle-without-log`.
    """
    return bundle.log_source(_best_log(bundle))


def _best_log(bundle: OpenBundle) -> SavedLog:
    logs = bundle.manifest.logs
    if not logs:
        raise _without_log(bundle)
    ranking = (bundle.document(f"{ANSWERS}/{_VERIFY}.json") or {}).get("ranking") or ()
    ranked = [row.get("path") for row in ranking if isinstance(row, dict)]
    return min(logs, key=lambda log: ranked.index(log.source) if log.source in ranked else len(ranked))


def _without_log(bundle: OpenBundle) -> InputError:
    return InputError(f"the bundle {bundle.path} does not contain a metadata log", id="bundle-without-log")


def stored_answer(bundle: OpenBundle, part: str) -> tuple[dict[str, Any], int]:
    """Return the answer of a part as it was kept, and the exit code that the command had. Its shape is not checked yet.

    Raises InputError `bundle-without-part`, with the reason if it could not be gathered.
    """
    found = bundle.manifest.part(part)
    answer = None if found is None else bundle.document(f"{ANSWERS}/{part}.json")
    if found is None or answer is None:
        error = None if found is None else found.error
        why = "" if error is None else f", because it could not be gathered: {error.message}"
        raise InputError(f"the bundle {bundle.path} does not contain {part}{why}", id="bundle-without-part")
    return answer, found.exit_code or 0


def stored_log_answer(bundle: OpenBundle, kind: str) -> dict[str, Any]:
    """Return `log.image` or `log.lint` of the first log that was read. Raise InputError `bundle-without-part`."""
    for part in bundle.manifest.parts:
        name, _, number = part.name.rpartition("-")
        if name == "log" and part.is_gathered:
            answer = bundle.document(f"{ANSWERS}/{kind}-{number}.json")
            if answer is not None:
                return answer
    raise InputError(f"the bundle {bundle.path} does not contain {kind}", id="bundle-without-part")


@contextmanager
def unpacked_logs(path: str) -> Iterator[dict[str, str]]:
    """Unpack all metadata logs of a bundle while the context lasts: folders on this machine by shown name.

    Raises as `open_bundle`, InputError `bundle-without-log`, FailedError `bundle-not-unpacked`.
    """
    # Spark ships folders with this name to its workers.
    with tempfile.TemporaryDirectory(prefix=FETCHED) as scratch, open_bundle(path) as bundle:
        if not bundle.manifest.logs:
            raise _without_log(bundle)
        found = {}
        for log in bundle.manifest.logs:
            above = log.folder.rpartition("/")[0]
            bundle.extract(above, Path(scratch))
            found[f"{path}:{log.folder}"] = str(Path(scratch, *log.folder.split("/")))
        yield found


@contextmanager
def unpacked_observation(path: str) -> Iterator[str]:
    """Yield the observation of a migration as a folder. Raises as `unpacked_logs`, InputError `bundle-without-part`."""
    with _unpacked(path, MIGRATION, "migrate.observe") as folder:
        yield folder


@contextmanager
def unpacked_tiered(path: str) -> Iterator[str]:
    """Yield the observation of tiered storage as a folder. Raises as `unpacked_observation`."""
    with _unpacked(path, TIERED, "tiered.audit") as folder:
        yield folder


def has_tiered_records(path: str) -> bool:
    """Return True if a bundle contains the records that its audit was made from. Raises as `open_bundle`."""
    with open_bundle(path) as bundle:
        return bool(bundle.names(TIERED))


@contextmanager
def _unpacked(path: str, folder: str, part: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix=FETCHED) as scratch, open_bundle(path) as bundle:
        if not bundle.names(folder):
            stored_answer(bundle, part)  # raises with the reason if there is one
            raise InputError(f"the bundle {path} does not contain what {part} was made from", id="bundle-without-log")
        yield str(bundle.extract(folder, Path(scratch)))
