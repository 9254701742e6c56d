"""Progress of a migration's mirror: the log at the offset in `/migration`, and the age of that offset."""

from __future__ import annotations

from collections.abc import Mapping

from kafkactl.core.errors import FailedError, InputError
from kafkactl.metadata.io.image import LoadedImage, Point, load_image
from kafkactl.metadata.io.source import LogSource
from kafkactl.migration.compare.comparison import phase_facts
from kafkactl.migration.compare.phase import Phase, phase_of
from kafkactl.migration.observed.log_facts import Mirror
from kafkactl.migration.observed.observation import Observation


def mirror_of(observation: Observation, logs: Mapping[int, LogSource]) -> Mirror | None:
    """Return the mirror in the log on which the observation is based. Never raises for the log's content.

    None if there is no dual write, if nothing but no-ops was logged after its offset (so ZooKeeper has to say
    what the log states), and if the log does not reach to the offset, or does not keep it any more.
    """
    log, facts = observation.log, phase_facts(observation)
    offset = facts.migration_offset
    if log is None or log.last_offset is None or offset is None or phase_of(facts) is not Phase.DUAL_WRITE:
        return None
    if not 0 <= offset < (log.last_offset if log.last_change_offset is None else log.last_change_offset):
        return None
    id = next((id for id, facts in observation.logs.items() if facts is log), None)
    source = None if id is None else logs.get(id)
    at = None if source is None else _loaded(source, Point(offset=offset))
    if at is None or at.position is None:
        return None
    end_ms = at.position.timestamp_ms if log.last_ms is None else log.last_ms
    return Mirror(offset=offset, image=at.image, behind_ms=max(0, end_ms - at.position.timestamp_ms))


def _loaded(source: LogSource, point: Point) -> LoadedImage | None:
    try:
        return load_image(source, point)
    except (InputError, FailedError):
        return None
