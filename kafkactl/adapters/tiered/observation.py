"""An observation as a folder: `observation.json`, the logs of the metadata topic, a listing of the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from kafkactl.adapters.files.input_files import InputKind, read_input
from kafkactl.errors import InputError
from kafkactl.frozen import frozen
from kafkactl.kafka_names import METADATA_LOG
from kafkactl.tiered.cluster_view import ClusterView
from kafkactl.tiered.observation import parse_observation

OBSERVATION: Final = "observation.json"
LOGS: Final = "remote-log-metadata"
BUCKET: Final = "bucket.jsonl.gz"
CLUSTER_METADATA: Final = "cluster-metadata"


@frozen
class SavedObservation:
    """What a folder holds: paths are None or empty where it holds no such thing."""

    path: str
    view: ClusterView
    logs: tuple[str, ...]
    bucket: str | None
    cluster_metadata: str | None


def read_observation(path: str) -> SavedObservation:
    """The observation in a folder. Raises InputError `input-file-unreadable`, `invalid-observation`."""
    folder = Path(path)
    file = folder / OBSERVATION
    try:
        document = json.loads(read_input(file, "observation", InputKind.TIERED_OBSERVATION))
    except ValueError as error:
        raise InputError(
            f"{file} is not valid JSON: {error}",
            id="invalid-observation",
            next_step="Take the observation again with `kafkactl tiered observe`.",
        ) from error
    logs, bucket, metadata = folder / LOGS, folder / BUCKET, folder / CLUSTER_METADATA / METADATA_LOG
    return SavedObservation(
        path=path,
        view=parse_observation(document, file=str(file)),
        logs=tuple(sorted(str(part) for part in logs.iterdir() if part.is_dir())) if logs.is_dir() else (),
        bucket=str(bucket) if bucket.is_file() else None,
        cluster_metadata=str(metadata) if metadata.is_dir() else None,
    )
