"""Keys of a file that Kafka ignores and that their author did not mean to be ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.protocol.text.config_values import PROVIDERS, Problem
from kafkactl.protocol.text.properties import Properties
from kafkactl.storage.config.keys import ServerKey, known_in
from kafkactl.storage.config.view import ConfigView

# Each tuple has the names of one setting with the factor to a common unit; the first that is given wins.
_SYNONYMS: Final[tuple[tuple[tuple[str, int], ...], ...]] = (
    (("log.dirs", 1), ("log.dir", 1)),
    (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    (("log.roll.ms", 1), ("log.roll.hours", 3_600_000)),
    (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3_600_000)),
)
# Keys that 2.8 was the last to know, with the keys that have their meaning.
_BEFORE_3: Final[Mapping[str, str]] = {
    "advertised.host.name": "advertised.listeners",
    "advertised.port": "advertised.listeners",
    "host.name": "listeners",
    "port": "listeners",
    "quota.consumer.default": "dynamic client quotas",
    "quota.producer.default": "dynamic client quotas",
}
# A key that the table of settings has from the release on whose definition names it; the class that all settings are
# read with (`AbstractConfig`) has resolved it in every release.
_READ_BY_EVERY_RELEASE: Final = frozenset({PROVIDERS})


def ignored_keys(properties: Properties, view: ConfigView) -> Iterator[Problem]:
    """Yield unknown keys that are probably meant, and keys that another name of the same setting overrules."""
    for key in properties.mapping:
        if key not in view.values.keys and key not in _READ_BY_EVERY_RELEASE:
            yield from _unknown_key(key, view.values.keys, view)
    for names in _SYNONYMS:
        yield from _overruled(names, view)


def _unknown_key(key: str, keys: Mapping[str, ServerKey], view: ConfigView) -> Iterator[Problem]:
    """Report a key of another release or a misspelt key; ignore other unknown keys, since plugins define their own."""
    if span := known_in(key):
        first, last = span
        words = f"Kafka {view.release.name} does not know {key} (known from {first} to {last}) and ignores it"
        yield Problem(id="config-key-of-other-release", key=key, words=words, next_step="Remove it.")
        return
    if key in _BEFORE_3:
        words = f"Kafka {view.release.name} does not know {key} (known up to 2.8) and ignores it"
        step = f"Remove it; {_BEFORE_3[key]} has its meaning."
        yield Problem(id="config-key-of-other-release", key=key, words=words, next_step=step)
        return
    import difflib

    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.9)
    if near and not key.startswith("listener.name."):
        words = f"Kafka has no key {key} and ignores it; did you mean {near[0]}?"
        yield Problem(id="misspelt-config-key", key=key, words=words, next_step=f"Write {near[0]}.")


def _overruled(names: tuple[tuple[str, int], ...], view: ConfigView) -> Iterator[Problem]:
    """Yield the names of a setting that lose against another one with another value."""
    given = [(key, factor) for key, factor in names if view.is_given(key) and key not in view.values.unusable]
    if not given:
        return
    winner, unit = given[0]
    for key, factor in given[1:]:
        mine, other = view.get(key), view.get(winner)
        if isinstance(mine, int) and isinstance(other, int):
            mine, other = mine * factor, other * unit
        if mine != other:
            words = f"{key} has no effect: {winner} is given too, with another value, and wins"
            yield Problem(
                id="config-synonym-ignored", key=key, words=words, next_step=f"Remove one of {winner}, {key}."
            )
