"""Brokers that were asked and did not answer."""

from __future__ import annotations

from kafkactl.migration.observed.observation import Observation


def silent_brokers(observation: Observation) -> frozenset[int]:
    """The brokers that were asked and did not answer: refused, or nothing came (paused, cut off)."""
    unmet = {finding.subject for finding in observation.findings if finding.id == "node-not-observed"}
    return frozenset(broker.id for broker in observation.brokers if broker.alive is False or broker.name in unmet)
