"""Brokers that were asked and did not answer."""

from __future__ import annotations

from kafkactl.migration.observed.observation import Observation


def silent_brokers(observation: Observation) -> frozenset[int]:
    """The brokers that were asked and did not answer: refused, or nothing came (paused, cut off)."""
    unmet = {one.subject for one in observation.findings if one.id == "node-not-observed"}
    return frozenset(one.id for one in observation.brokers if one.alive is False or one.name in unmet)
