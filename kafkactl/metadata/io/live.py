"""The log of a live cluster as a folder on this machine, for code that reads a log more than once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from kafkactl.core.errors import FailedError, KafkactlError
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.kafka.client import Client
from kafkactl.metadata.io.source import cluster_files
from kafkactl.metadata.log.fetched_folder import FETCHED
from kafkactl.protocol.text.meta_properties import META_PROPERTIES


@contextmanager
def saved_log(client: Client) -> Iterator[str]:
    """Yield the path of a folder with everything that the active controller has of its log, while the context lasts.

    It is this user's alone: credentials stand in it. Raises FailedError `fetched-log-not-written`, and UnreachableError
    as `metadata_fetch.iterate_metadata_log` does.
    """
    with tempfile.TemporaryDirectory(prefix=FETCHED) as scratch:
        folder = Path(scratch) / "0" / METADATA_LOG
        try:
            _save(client, folder)
        except OSError as error:
            raise FailedError(
                f"{scratch}: the log of the cluster cannot be kept there: {error.strerror or error}",
                id="fetched-log-not-written",
            ) from error
        yield str(folder)


def _save(client: Client, folder: Path) -> None:
    folder.mkdir(parents=True)
    cluster_id = _cluster_id(client)
    if cluster_id is not None:  # version 0, which may lack the node id: which controller leads is not known
        text = f"version=0\ncluster.id={cluster_id}\n"
        (folder.parent / META_PROPERTIES).write_text(text, encoding="utf-8")
    for file in cluster_files(client, from_offset=None, up_to=None, whole=True):
        with (folder / PurePosixPath(file.name).name).open("wb") as out:
            out.writelines(file.pieces())


def _cluster_id(client: Client) -> str | None:
    """Return the cluster's id; None if it is not reported: by controllers before 3.7, or to this user."""
    try:
        return client.cluster().cluster_id
    except KafkactlError:
        return None
