"""Settings of tiered storage with which a broker does not start, or serves nothing: `KafkaConfig` takes the file.

The problems have the words of the broker's log. Measured on 3.9.2, 4.3.1 and 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.catalog.start_rules import start_rules
from kafkactl.protocol.text.config_values import Problem
from kafkactl.protocol.text.java_text import trim
from kafkactl.storage.config.node_config import NodeConfig

METADATA_LISTENER: Final = "remote.log.metadata.manager.listener.name"
STORAGE_CLASS: Final = "remote.log.storage.manager.class.name"
_PREFIX: Final = "remote.log.metadata.manager.impl.prefix"
_DEFAULT_PREFIX: Final = "rlmm.config."
_PARTITIONS: Final = "remote.log.metadata.topic.num.partitions"
_DEFAULT_PARTITIONS: Final = 50
_TOPIC_BASED: Final = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"


def tiered_problems(config: NodeConfig, release: Release) -> Iterator[Problem]:
    """Yield missing or wrong settings of a broker with tiered storage."""
    tiered = config.tiered
    if "broker" not in config.roles or tiered is None:
        return
    if tiered.storage_class is None:
        yield Problem(id="tiered-storage-class-missing", key=STORAGE_CLASS, words="java.lang.NullPointerException")
    named, names = tiered.metadata_listener, broker_listeners(config)
    if named is not None and named.upper() not in names:
        words = "Should be set as a listener name within valid broker listener name list"
        yield Problem(id="tiered-metadata-listener-unknown", key=METADATA_LISTENER, words=words)
    elif lacks_metadata_servers(config) and start_rules(release).stops_without_remote_metadata:
        words = "Stopping the server as it failed to initialize topic-based RLMM resources"
        yield Problem(id="tiered-metadata-listener-missing", key=METADATA_LISTENER, words=words)


def lacks_metadata_servers(config: NodeConfig) -> bool:
    """Return True if the topic-based manager of tiered metadata has no listener to connect to."""
    tiered = config.tiered
    return tiered is not None and tiered.metadata_listener is None and tiered.metadata_class == _TOPIC_BASED


def metadata_partitions(config: NodeConfig) -> int | None:
    """Return the number of partitions that the topic-based manager of tiered metadata expects of its topic.

    None if another manager is configured, or the value is not a number.
    """
    if config.tiered is None or config.tiered.metadata_class != _TOPIC_BASED:
        return None
    prefix = config.properties.get(_PREFIX, _DEFAULT_PREFIX)
    text = trim(config.properties.get(f"{prefix}{_PARTITIONS}", str(_DEFAULT_PARTITIONS)))
    return int(text) if text.isascii() and text.isdecimal() else None


def broker_listeners(config: NodeConfig) -> list[str]:
    """Return the names of the listeners that a broker advertises to clients."""
    controllers = {listener.upper() for listener in config.controller_listener_names}
    return sorted({endpoint.listener for endpoint in config.advertised_listeners} - controllers)
