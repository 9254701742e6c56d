"""The words that a shell completes: contexts, releases, features and their levels, node ids, topics.

Completion never fails and never speaks: what cannot be learned in time is not offered.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.errors import KafkactlError
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.files.contexts import contexts_file, load_contexts
from kafkactl.files.word_cache import cache_folder, cached_words
from kafkactl.kafka.api.connection import resolve_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkactl.files.contexts import Target

OFFLINE: Final = "offline"
_CALL_MS: Final = 3_000.0
_MOST_LEVELS: Final = 100
# A shell pastes what is offered into a command line, and the names of a cluster are not trusted.
_HARMLESS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+=-]{0,248}")


def harmless(words: list[str]) -> list[str]:
    """Return the words that every shell reads as plain words."""
    return [word for word in words if _HARMLESS.fullmatch(word)]


def context_words() -> list[str]:
    """Return the names of all contexts; none if their file cannot be read."""
    try:
        return harmless(sorted(load_contexts(contexts_file(os.environ)).by_name))
    except KafkactlError:
        return []


def release_words() -> list[str]:
    """Return the releases that are known, newest first."""
    from kafkactl.protocol.catalog.releases import release_names

    return list(reversed(release_names()))


def cluster_facts(
    *,
    bootstrap_server: str | None = None,
    bootstrap_controller: str | None = None,
    bootstrap: str | None = None,
    command_config: str | None = None,
    controller_command_config: str | None = None,
    context: str | None = None,
    mode: str = "",
) -> dict[str, Any]:
    """Return `brokers`, `controllers`, `topics` and `features` of the cluster that these connection arguments name.

    Kept for a minute in the user's cache folder, one file a cluster; asked for at most 150 ms at a time, after which
    the answer is there for the next key press. With the mode `offline` no cluster is asked. Empty if none answers.
    """
    if mode == OFFLINE:
        return {}
    try:
        target = resolve_target(
            bootstrap_server=bootstrap_server,
            bootstrap_controller=bootstrap_controller,
            bootstrap=bootstrap,
            command_config=command_config,
            controller_command_config=controller_command_config,
            context=context,
        )
    except KafkactlError:
        return {}
    addresses = (target.bootstrap_server, target.bootstrap_controller, target.bootstrap)
    if not (any(addresses) or target.command_config):
        return {}
    key = [str(part) for part in (target.context, *addresses)]
    key += [
        str(Path(file).absolute()) if file else "" for file in (target.command_config, target.controller_command_config)
    ]

    return cached_words(key, lambda: _gathered(target), folder=cache_folder())


def _gathered(target: Target) -> dict[str, Any]:
    from kafkactl.cluster.io.completion_facts import gather
    from kafkactl.kafka.api.connection import connect_by
    from kafkactl.kafka.client_config import load_client_config

    config = load_client_config(target.command_config)
    own = target.controller_command_config
    with connect_by(
        config,
        None if own is None else load_client_config(own),
        brokers=target.bootstrap_server,
        controllers=target.bootstrap_controller,
        nodes=target.bootstrap,
        timeout_ms=_CALL_MS,
    ) as client:
        return gather(client)


def feature_words(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Yield NAME=LEVEL of every level that the cluster supports and does not have, and its present level.

    Without a cluster those of the newest release.
    """
    found = []
    for name, (lowest, highest, finalized) in _levels(facts).items():
        levels = [level for level in range(max(lowest, 1), highest + 1) if level != finalized]
        now = f"now {finalized}" if facts else ""
        found += [(f"{name}={level}", now) for level in levels[-_MOST_LEVELS:]]
    return [(word, description) for word, description in found if _HARMLESS.fullmatch(word)]


def feature_names(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the names of enabled features with levels; without a cluster, all names of the newest release."""
    return [
        (name, f"now {finalized}" if facts else "")
        for name, (_, _, finalized) in _levels(facts).items()
        if (finalized or not facts) and _HARMLESS.fullmatch(name)
    ]


def _levels(facts: Mapping[str, Any]) -> dict[str, tuple[int, int, int]]:
    if facts.get("features"):
        return {name: tuple(levels) for name, levels in sorted(facts["features"].items())}
    from kafkactl.protocol.catalog.levels import features_of
    from kafkactl.protocol.catalog.releases import newest_release

    release = newest_release()
    levels = {name: (0, facts.latest_production, 0) for name, facts in features_of(release).items()}
    return {METADATA_VERSION: (release.lowest_supported_level, release.production_level, 0), **levels}


def node_words(facts: Mapping[str, Any], *roles: str) -> list[tuple[str, str]]:
    """Return node ids as text, each once, with the roles that it has of `brokers` and `controllers`.

    Negative numbers are left out.
    """
    found: dict[int, list[str]] = {}
    for role in roles:
        for node in facts.get(role, ()):
            found.setdefault(node, []).append(role.removesuffix("s"))
    return [(str(node), ", ".join(found[node])) for node in sorted(found) if node >= 0]


def topic_words(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the names of the topics."""
    return [(name, "") for name in harmless(facts.get("topics", []))]
