"""The Kafka releases the lab knows, and which Maven artifacts make each of them up.

One line a release. Kafka 4.x publishes no logging back end with its broker, so log4j is added there; 3.x
brings reload4j. Not every artifact exists for every release: ``kafka-tools-api`` begins with 3.6 here (3.3 has
none), and of 4.4.0 only the server side is published, whose poms still name ``kafka-tools-api``.
"""

from __future__ import annotations

from dataclasses import dataclass

LOG4J = "2.25.4"
ZOOKEEPER_RELEASE = "3.9.2"
"""The newest release that still brings ZooKeeper (3.8.4) and can run on it."""


@dataclass(frozen=True, slots=True, order=True)
class Coordinates:
    """Maven artifact."""

    group: str
    artifact: str
    version: str
    classifier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Release of Kafka: what is fetched for it and how it is run.

    ``dump_class`` is the class of its log dump tool. ``excluded`` are artifact ids of ``org.apache.kafka``
    that its poms name but that were never published.
    """

    version: str
    server: tuple[str, ...] = ("kafka_2.13",)
    tools: tuple[str, ...] = ("kafka-tools", "kafka-tools-api", "kafka-shell")
    excluded: tuple[str, ...] = ()
    dump_class: str = "kafka.tools.DumpLogSegments"

    @property
    def number(self) -> tuple[int, ...]:
        """Return the version as numbers, for comparing: ``(3, 9, 2)``."""
        return tuple(int(part) for part in self.version.split("."))

    @property
    def uses_log4j2(self) -> bool:
        """Return True if logging is configured the log4j 2 way (4.0 and later) or the log4j 1 way (3.x)."""
        return self.number >= (4, 0)

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        """Return every artifact to resolve, in the order in which they are named to Maven."""
        kafka = tuple(Coordinates("org.apache.kafka", name, self.version) for name in self.server + self.tools)
        return kafka + (_log4j() if self.uses_log4j2 else ())


def _log4j() -> tuple[Coordinates, ...]:
    names = ("log4j-api", "log4j-core", "log4j-slf4j-impl")
    return tuple(Coordinates("org.apache.logging.log4j", name, LOG4J) for name in names)


NEW_DUMP = "org.apache.kafka.tools.DumpLogSegments"

_TABLE = (
    Release(version="3.3.2", tools=("kafka-tools", "kafka-shell")),
    Release(version="3.6.2"),
    Release(version="3.7.2"),
    Release(version="3.8.1"),
    Release(version="3.9.2"),
    Release(version="4.0.2"),
    Release(version="4.1.2"),
    Release(version="4.2.1"),
    Release(version="4.3.1", dump_class=NEW_DUMP),
    Release(version="4.4.0", dump_class=NEW_DUMP, tools=(), excluded=("kafka-tools-api",)),
)

RELEASES: dict[str, Release] = {release.version: release for release in _TABLE}
"""All releases by version, oldest first."""

VERSIONS: tuple[str, ...] = tuple(RELEASES)
NEWEST: str = VERSIONS[-1]
NEWEST_WITH_TOOLS: str = [release.version for release in _TABLE if "kafka-tools" in release.tools][-1]
"""The newest release whose command-line tools other than StorageTool are published."""


def release(version: str) -> Release:
    """Return the row of ``version``; ``KeyError`` naming the known ones if there is none."""
    if version not in RELEASES:
        raise KeyError(f"the lab has no Kafka {version}; it has {', '.join(VERSIONS)}")
    return RELEASES[version]
