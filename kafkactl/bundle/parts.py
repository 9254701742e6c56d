"""Plan of a bundle's parts, from the operator's arguments alone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from kafkactl.core.frozen import frozen


class PartKind(Enum):
    """Kind of a part: its word in the manifest, and its subject."""

    VERSIONS = "versions", "kafkactl, Python, the operating system, and the Kafka releases that were seen"
    CONFIG = "config", "the node's configuration, without secrets and comments"
    STORAGE_INFO = "storage.info", "the contents of the node's log directories"
    STORAGE_VERIFY = "storage.verify", "whether the node would start with them"
    LOG = "log", "the state at the end of the metadata log, and anomalies in it"
    LOG_VERIFY = "log.verify", "whether the metadata logs are whole, and whether they agree"
    QUORUM = "quorum.describe", "leader, voters and observers"
    FEATURES = "features.describe", "finalized and supported feature levels"
    NODES = "nodes.list", "the registered nodes, and those that answer"
    MIGRATION = "migrate.observe", "the observation of a migration, without secrets"
    TIERED = "tiered.audit", "the audit of tiered storage, and what it was made from"

    def __init__(self, word: str, about: str) -> None:
        self.word = word
        self.about = about


@frozen
class Part:
    """A part to gather. `number` counts those of a kind from 1 if there may be several; `source` is what the
    operator named: a configuration, a log; None: the live cluster, or the one source of its kind."""

    kind: PartKind
    number: int | None = None
    source: str | None = None
    is_config: bool = False  # of a log: `source` is the configuration that says where it is

    @property
    def name(self) -> str:
        """Return the part's name in the manifest: `storage.verify-2`."""
        return self.kind.word if self.number is None else f"{self.kind.word}-{self.number}"

    @property
    def about(self) -> str:
        """Return the subject of the part, and its source."""
        return self.kind.about if self.source is None else f"{self.kind.about} ({self.source})"


@frozen
class NamedParts:
    """Parts that the operator named."""

    configs: Sequence[str] = ()
    logs: Sequence[str] = ()
    has_cluster: bool = False
    has_migration: bool = False
    has_tiered: bool = False

    @property
    def is_nothing(self) -> bool:
        """Return True if there is nothing to gather from."""
        return not (self.configs or self.logs or self.has_cluster or self.has_migration or self.has_tiered)


_OF_A_NODE: Final = (PartKind.CONFIG, PartKind.STORAGE_INFO, PartKind.STORAGE_VERIFY)
_OF_A_CLUSTER: Final = (PartKind.QUORUM, PartKind.FEATURES, PartKind.NODES)


def plan_parts(wanted: NamedParts) -> tuple[Part, ...]:
    """Return the parts in the order in which they are gathered; each source once."""
    configs, logs = list(dict.fromkeys(wanted.configs)), list(dict.fromkeys(wanted.logs))
    found = [
        Part(kind=kind, number=number, source=config)
        for number, config in enumerate(configs, start=1)
        for kind in _OF_A_NODE
    ]
    # Live answers before the log: what follows in the log is then newer than they are, and explains them.
    found += [Part(kind=kind) for kind in _OF_A_CLUSTER if wanted.has_cluster]
    named: list[tuple[str | None, bool]] = [*((path, True) for path in configs), *((path, False) for path in logs)]
    named += [(None, False)] if wanted.has_cluster else []
    found += [
        Part(kind=PartKind.LOG, number=number, source=source, is_config=is_config)
        for number, (source, is_config) in enumerate(named, start=1)
    ]
    found += [Part(kind=PartKind.LOG_VERIFY)] if named else []
    found += [Part(kind=PartKind.MIGRATION)] if wanted.has_migration else []
    found += [Part(kind=PartKind.TIERED)] if wanted.has_tiered else []
    return (*found, Part(kind=PartKind.VERSIONS))
