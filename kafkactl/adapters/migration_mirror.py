"""How far the mirror of a migration has come: the log at the offset in `/migration`, and how long ago that was."""

from __future__ import annotations

from collections.abc import Mapping

from kafkactl.adapters.log_image import LoadedImage, Point, load_image
from kafkactl.adapters.log_source import LogSource
from kafkactl.errors import FailedError, InputError
from kafkactl.frozen import frozen
from kafkactl.migration.compare import Comparison, compare_observation, phase_facts
from kafkactl.migration.compare_phase import Mirror
from kafkactl.migration.observation import Observation


@frozen
class MirrorSeen:
    """`mirror` is None where the log does not reach to the offset, or does not keep it any more; `log_end_ms` is the
    time of the log's last record."""

    mirror: Mirror | None = None
    log_end_ms: int | None = None


def compare_captured(observation: Observation, logs: Mapping[int, LogSource]) -> Comparison:
    """ZooKeeper against KRaft, with what only the records can tell: which difference is younger than the mirror."""
    seen = mirror_of(observation, logs)
    return compare_observation(observation, mirror=seen.mirror, log_end_ms=seen.log_end_ms)


def mirror_of(observation: Observation, logs: Mapping[int, LogSource]) -> MirrorSeen:
    """The mirror in the log that the observation goes by. Never raises for what the log holds."""
    furthest = observation.log
    id = next((id for id, facts in observation.logs.items() if facts is furthest), None)
    source = None if id is None else logs.get(id)
    offset = phase_facts(observation).migration_offset
    if source is None:
        return MirrorSeen()
    end = _loaded(source, Point())
    if end is None or end.position is None:
        return MirrorSeen()
    end_ms = end.position.timestamp_ms
    if offset is None or not 0 <= offset <= end.position.offset:
        return MirrorSeen(log_end_ms=end_ms)
    at = _loaded(source, Point(offset=offset))
    if at is None or at.position is None:
        return MirrorSeen(log_end_ms=end_ms)
    behind_ms = max(0, end_ms - at.position.timestamp_ms)
    return MirrorSeen(mirror=Mirror(offset=offset, image=at.image, behind_ms=behind_ms), log_end_ms=end_ms)


def _loaded(source: LogSource, point: Point) -> LoadedImage | None:
    try:
        return load_image(source, point)
    except (InputError, FailedError):
        return None
