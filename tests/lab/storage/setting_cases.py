"""The part of the catalogue of verify that is about settings: in the file of the node, and in its metadata log."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.values import Uuid
from tests.lab.harness.releases import VERSIONS
from tests.lab.storage.verify_cases import CONTROLLER, Case
from tests.lab.storage.verify_damage import Damage, stored

_TOPIC, _CONFIG, _REMOVED = 2, 4, 9
_SMALL = Uuid(b"\x12" * 16)
SINCE_39 = tuple(version for version in VERSIONS if version >= "3.9")


def _topic_with(key: str, value: str, *more: tuple[int, dict[str, object]]) -> Damage:
    """A topic of the cluster, without a replica on this node, has a setting."""
    return stored(
        (_TOPIC, {"Name": "small", "TopicId": _SMALL}),
        (_CONFIG, {"ResourceType": 2, "ResourceName": "small", "Name": key, "Value": value}),
        *more,
    )


def _in_the_log() -> Iterator[Case]:
    small = _topic_with("segment.bytes", "100000")
    yield Case(
        name="topic with a small segment", releases=SINCE_39, formatted_by="3.9.2", started_once=True, damage=small
    )
    yield Case(
        name="controller, topic with a small segment", releases=("4.3.1",), formatted_by="3.9.2", started_once=True,
        damage=small, node=CONTROLLER,
    )  # fmt: skip
    gone = _topic_with("segment.bytes", "100000", (_REMOVED, {"TopicId": _SMALL}))
    yield Case(
        name="deleted topic with a small segment", releases=("4.3.1",), formatted_by="3.9.2", started_once=True,
        damage=gone,
    )  # fmt: skip
    for key, value in (("compression.gzip.level", "15"), ("retention.ms", "-7"), ("message.format.version", "3.0")):
        yield Case(
            name=f"topic with {key}={value}", releases=("3.9.2", "4.3.1"), formatted_by="3.9.2", started_once=True,
            damage=_topic_with(key, value),
        )  # fmt: skip
    own = stored(
        (_CONFIG, {"ResourceType": 4, "ResourceName": "1", "Name": "log.segment.bytes", "Value": "100000"}),
    )
    yield Case(
        name="dynamic setting out of range", releases=("3.9.2", "4.3.1"), formatted_by="3.9.2", started_once=True,
        damage=own,
    )  # fmt: skip


SETTING_CASES: tuple[Case, ...] = (*_in_the_log(),)
SETTING_REPRESENTATIVES: tuple[tuple[str, str], ...] = (("topic with a small segment", "4.1.2"),)
