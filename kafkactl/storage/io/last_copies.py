"""The metadata log that shows what an empty directory of a broker replaces: the quorum's, or the node's own copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafkactl.core.callbacks import ExposureCallback
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.values import Role
from kafkactl.kafka.api.exposure import client_exposure
from kafkactl.kafka.client import Client, Limits
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.io.image import Point, load_image, replay_files
from kafkactl.metadata.io.source import cluster_files, open_source
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.last_copies import kept_directories, last_copies
from kafkactl.storage.io.lost_disk_quorum import BRIEF_MS, controller_client_config, other_controllers
from kafkactl.storage.model import LastCopies, ObservedNode

_READING_MS = 10_000.0  # 200,000 partitions are read in some seconds


def read_last_copies(
    config: NodeConfig, observed: ObservedNode, cluster_id: str, *, on_exposure: ExposureCallback, most_ms: float
) -> LastCopies | None:
    """Return the partitions that wait for a directory that the node no longer has; None if no log can be read."""
    kept = kept_directories(observed)
    image = _read(lambda: _image_of_quorum(config, cluster_id, on_exposure, most_ms))
    if image is not None:
        return last_copies(image, config.node_id, kept, source="the metadata log of the running quorum", is_own=False)
    path = str(Path(config.metadata_log_dir, METADATA_LOG))
    own = observed.directory(config.metadata_log_dir)
    if own.meta_properties is None or own.metadata_log is None:
        return None
    image = _read(lambda: load_image(open_source(path), Point()).image)
    if image is None:
        return None
    return last_copies(image, config.node_id, kept, source=f"the metadata log in {path}", is_own=True)


def _read(read: Callable[[], Image | None]) -> Image | None:
    """Return the image; None for a log that cannot be read or a quorum that cannot be asked."""
    try:
        return read()
    except KafkactlError:
        return None


def _image_of_quorum(
    config: NodeConfig, cluster_id: str, on_exposure: ExposureCallback, most_ms: float
) -> Image | None:
    """Return the image of the running quorum; None if none of this cluster is known. Raises KafkactlError."""
    places = tuple(other_controllers(config))
    if not places:
        return None
    try:
        way_in = controller_client_config(config)
    except InputError:
        return None
    on_exposure(client_exposure(way_in))
    brief = Limits(timeout_ms=min(BRIEF_MS, most_ms), request_timeout_ms=min(BRIEF_MS, most_ms))
    with Client(places, Role.CONTROLLER, access=way_in.access(), limits=brief) as client:
        if not any(isinstance(answer, NodeVersions) for answer in client.versions(places).values()):
            return None
        if _cluster_id(client) not in (None, cluster_id):
            return None
    limits = Limits(timeout_ms=min(_READING_MS, most_ms), request_timeout_ms=min(_READING_MS, most_ms))
    with Client(places, Role.CONTROLLER, access=way_in.access(), limits=limits) as client:
        files = cluster_files(client, from_offset=None, up_to=None, whole=False)
        return replay_files(files, Point(), name="the log of the cluster").image


def _cluster_id(client: Client) -> str | None:
    """Return the id of the cluster; None if no controller may or can name it (before 3.7)."""
    try:
        return client.cluster().cluster_id
    except KafkactlError:
        return None
