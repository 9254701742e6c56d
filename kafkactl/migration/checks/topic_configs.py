"""C-51: configs of topics that Kafka 3.9 does not know, or whose values it cannot read (schemas/topic_configs.toml).

They are copied unchanged, as a config is text to the copy; it is the broker that fails at them later.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.data_files import read_data
from kafkactl.core.findings import Finding, warning
from kafkactl.core.wording import some
from kafkactl.migration.checks.case import ON_ZOOKEEPER, CheckCase, Row
from kafkactl.migration.zktree.znode import Hidden
from kafkactl.protocol.redact import TOPIC, shown_config
from kafkactl.protocol.text.java_text import LONG_BITS, parse_boolean, parse_double, parse_int, split_list, trim


def _topic_configs(case: CheckCase) -> Iterator[Finding]:
    unknown: dict[str, list[str]] = {}
    tree = case.tree
    for topic, config in ({} if tree is None else tree.topic_configs).items():
        for key, value in config.items():
            kind = _kinds().get(key)
            if kind is None:
                unknown.setdefault(key, []).append(topic)
            elif value != Hidden.REDACTED.value and not _reads(kind, key, value):
                yield warning(
                    "topic-config-invalid",
                    f"topic {topic} {key}",
                    f"{shown_config(TOPIC, key, value)!r} is not a value of type {kind}",
                    key=key,
                )
    for key, topics in sorted(unknown.items()):
        yield warning(
            "topic-config-unknown",
            key,
            f"Kafka 3.9 does not know the config {key}; {some(topics)} has it, and it is copied unchanged",
            topics=sorted(topics)[:20],
        )


def _reads(kind: str, key: str, value: str) -> bool:
    if kind == "words":
        return all(part in _words()[key] for part in split_list(value))
    readers = {
        "int": parse_int,
        "long": lambda text: parse_int(text, LONG_BITS),
        "double": parse_double,
        "boolean": parse_boolean,
    }
    return kind == "text" or readers[kind](trim(value)) is not None


@functools.cache
def _table() -> Mapping[str, list[str]]:
    import tomli

    found: Mapping[str, list[str]] = tomli.loads(read_data("topic_configs.toml").decode("utf-8"))
    return found


def _words() -> Mapping[str, list[str]]:
    words: Mapping[str, list[str]] = _table()["words"]  # type: ignore[assignment]
    return words


@functools.cache
def _kinds() -> Mapping[str, str]:
    """Return the kind of each key's values."""
    return {key: kind for kind, keys in _table().items() for key in keys}


ROWS: Final = (Row("C-51", "topic-config-values-unknown", "configs of topics", ON_ZOOKEEPER, _topic_configs),)
