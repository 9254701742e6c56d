"""Plans for tests of the format rules: a node, what is on its disks, what is asked; and what a plan says."""

from __future__ import annotations

from typing import Any

from kafkactl.core.findings import Finding, Outcome, Severity
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.model import Action, FormatPlan, FormatRequest, ObservedNode, VoterMode
from tests.storage.nodes import CLUSTER_ID, FixedSource, a_config, blank_node

OWN_ID = "JEXY6aqzQY-32P5TStzaFg"
OTHER_ID = "MvDxzVmcRsaTz33bUuRU6A"
VOTERS = f"1@localhost:9093:{OWN_ID},2@two:9093:{OTHER_ID}"
SCRAM = "SCRAM-SHA-256=[name=alice,password=alice-secret]"
STANDALONE = VoterMode.STANDALONE
TWO = {"log_dirs": ("/data/d1", "/data/d2")}


def plan(
    release: str = "4.4",
    *,
    observed: ObservedNode | None = None,
    config: NodeConfig | None = None,
    node: dict[str, Any] | None = None,
    **asked: Any,
) -> FormatPlan:
    """Return a plan; by default of a blank standalone node (static before 3.9)."""
    found = find_release(release)
    settings = {"static": not found.voter_flags, **(node or {})}
    config = config or a_config(found, **settings)
    dynamic = found.voter_flags and not settings["static"] and "controller" in config.roles
    request = FormatRequest(
        **{"cluster_id": CLUSTER_ID, "voter_mode": STANDALONE if dynamic else VoterMode.UNSPECIFIED, **asked}
    )
    return plan_format(request, config, observed or blank_node(config), found, FixedSource())


def stops(made: FormatPlan) -> list[str]:
    """Return the ids of what refuses a plan, in order."""
    return [finding.id for finding in made.findings if finding.severity is Severity.BLOCKER]


def finding(made: FormatPlan, id_: str) -> Finding:
    return next(finding for finding in made.findings if finding.id == id_)


def refused(made: FormatPlan, id_: str, phrase: str) -> None:
    """Check that the plan is refused for this one reason, in Kafka's words, and touches nothing."""
    assert made.outcome is Outcome.REFUSED
    assert made.outcome.exit_code == 3
    assert stops(made) == [id_]
    assert phrase in finding(made, id_).message
    assert finding(made, id_).advice
    assert all(directory.action is not Action.FORMAT and not directory.files for directory in made.directories)
