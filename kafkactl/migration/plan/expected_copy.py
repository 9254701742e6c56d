"""The copy that an observed cluster has before it: what it will write, and how long to wait for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.features.catalog.releases import KafkaVersion, find_release, newest_with_zookeeper
from kafkactl.migration.copy.forecast import CopyForecast, forecast_copy
from kafkactl.migration.copy.rules import rules_seen
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.zktree.password_encoder import SECRET_KEYS
from kafkactl.zookeeper.znode import Hidden

_TIMES: Final = 3
_MORE_MS: Final = 120_000


def expected_copy(evidence: Evidence, state: State) -> CopyForecast | None:
    """The copy of the tree as it is now, by the rules of the brokers' release; None where there is no tree, or the
    copy is done.
    """
    is_before = state is State.COPY_CRASHED or (state.place is not None and state.place <= (State.M5.place or 0))
    if evidence.tree is None or not is_before:
        return None
    versions = {node.kafka_version for node in evidence.observation.nodes if node.kafka_version}
    version = min((version for text in versions for version in _known(text)), default=newest_with_zookeeper().version)
    rules, release_findings = rules_seen(version)
    return forecast_copy(
        evidence.tree, rules, secrets=shown_secrets(evidence.observation.controllers), findings=release_findings
    )


def _known(text: str) -> Iterator[KafkaVersion]:
    """A release that Kafka has; vendors count in their own way."""
    with contextlib.suppress(InputError):
        yield find_release(text).version


def copy_deadline_ms(copy: CopyForecast) -> int:
    """How long the gate of M5 is waited for: three times the prediction, and two minutes."""
    return _MORE_MS + int(_TIMES * copy.seconds * 1000)


def shown_secrets(controllers: Iterable[NodeSeen]) -> tuple[str, ...] | None:
    """The controllers' encoder secrets; None where no file of a controller was seen, or it does not show them."""
    files = [controller.config for controller in controllers if controller.config is not None]
    given = [text for config in files for key in SECRET_KEYS if (text := config.get(key, "").strip())]
    hidden = any(text == Hidden.REDACTED.value or "${" in text for text in given)
    return None if not files or hidden else tuple(dict.fromkeys(given))
