"""The mark of a node: facts about it before its stop, as the journal keeps them."""

from __future__ import annotations

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen


@frozen
class NodeMark:
    """Facts about a node before its stop. None is unknown, or does not apply.

    `incarnation` and `controller_incarnation` are those of its registrations as broker and controller, `metadata_max`
    the highest metadata.version that it registered, `end_offset` the end of the metadata log.
    """

    node_id: int
    incarnation: str | None = None
    controller_incarnation: str | None = None
    metadata_max: int | None = None
    end_offset: int | None = None

    to_dict = by_fields
