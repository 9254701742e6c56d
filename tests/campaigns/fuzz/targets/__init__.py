"""Targets of the coverage-guided campaigns, by name."""

from __future__ import annotations

from tests.campaigns.fuzz.target import Target
from tests.campaigns.fuzz.targets import answers, kept, logs, shown, texts, tiered, zookeeper

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (logs, texts, kept, zookeeper, tiered, shown, answers)
    for target in module.TARGETS
}
