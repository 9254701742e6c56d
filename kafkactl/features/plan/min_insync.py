"""Effect of enabling eligible leader replicas on min.insync.replicas, predicted with numbers.

Source: `ConfigurationControlManager.maybeGenerateElrSafetyRecords` (4.0 on), measured on 4.3.1. With the level the
active controller writes min.insync.replicas for the whole cluster, with the value of its own file, unless the cluster
has one; and it deletes the value of every single broker. From then on the files of brokers have no part in it: the
cluster's value takes precedence, cannot be deleted, and single brokers cannot get one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkactl.cluster.node_settings import MIN_INSYNC
from kafkactl.cluster.state import MinInsync
from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import ELR_VERSION
from kafkactl.core.wording import some
from kafkactl.features.plan.case import Case

OPTION: Final = "--accept-min-insync-replicas"
_CLUSTER_VALUE: Final = (
    "kafka-configs.sh --alter --entity-type brokers --entity-default --add-config min.insync.replicas={value}"
)


def check_min_insync(case: Case) -> Iterator[Finding]:
    """Refuse a change of min.insync.replicas that was not requested, or cannot be predicted."""
    change = case.change(ELR_VERSION)
    if change is None or change.before or not change.after:
        return
    seen, accepted = case.state.min_insync, case.request.accepted_min_insync
    value = None if seen is None else _written(seen, case.state.active_controller)
    if seen is None or value is None or not seen.brokers or seen.unread:
        yield _unknown(seen, accepted, value)
        return
    changed = {held: ids for held, ids in seen.by_value().items() if held != value}
    evidence = _evidence(seen, value, changed)
    what = _what(seen, value, case.state.active_controller)
    if accepted is not None and str(accepted) != value:
        yield blocker(
            "elr-min-insync-not-accepted",
            f"feature {ELR_VERSION}",
            f"{what}, and {OPTION} accepts {accepted}",
            f"Give {OPTION} {value} if that is what the cluster should have, or set the cluster's value first: "
            f"{_CLUSTER_VALUE.format(value=accepted)}",
            **evidence,
        )
    elif changed:
        best = max(changed, key=_number)
        make = blocker if accepted is None else warning
        yield make(
            "elr-changes-min-insync",
            f"feature {ELR_VERSION}",
            f"{what}: {_changes(seen, value, changed)}",
            f"Set the cluster's value first, then nothing changes: {_CLUSTER_VALUE.format(value=best)} — or accept the "
            f"new value: {OPTION} {value}",
            **evidence,
        )
    else:
        yield note(
            "elr-keeps-min-insync",
            f"feature {ELR_VERSION}",
            f"{what}; that is the value in force on every broker that answers",
            **evidence,
        )


def _written(seen: MinInsync, active: int | None) -> str | None:
    """Return the cluster's value afterwards; None if it is not known which file decides, or what it says."""
    return seen.cluster if seen.cluster is not None or active is None else seen.controllers.get(active)


def _what(seen: MinInsync, value: str, active: int | None) -> str:
    if seen.cluster is not None:
        return f"the cluster's {MIN_INSYNC}={value} stays, and it takes precedence on every broker"
    others = {controller: text for controller, text in seen.controllers.items() if text != value}
    hint = f" (controller {some(map(str, others))} would write {some(set(others.values()))})" if others else ""
    return (
        f"enabling {ELR_VERSION} writes {MIN_INSYNC}={value} for the whole cluster, the value of the file of "
        f"controller {active}{hint}"
    )


def _changes(seen: MinInsync, value: str, changed: Mapping[str, Sequence[int]]) -> str:
    topics = "topics without a value of their own"
    if seen.topics is not None:
        topics = f"{seen.topics} {topics}" if seen.topics != 1 else "1 topic without a value of its own"
    steps = ", ".join(f"{held} -> {value} on broker {some(map(str, ids))}" for held, ids in changed.items())
    single = f"; the values of single brokers ({some(map(str, seen.single))}) are deleted" if seen.single else ""
    return f"{steps}, for {topics}{single}"


def _unknown(seen: MinInsync | None, accepted: int | None, value: str | None) -> Finding:
    if seen is None:
        why = "the settings of the nodes were not read"
    elif seen.unread:
        why = f"the settings of {some(seen.unread)} could not be read"
    elif value is None:
        why = "the active controller's value is not known"
    else:
        why = "no broker's value is known"
    make = blocker if accepted is None else warning
    known = "" if value is None else f"; the cluster's value will be {value}"
    if seen is not None and seen.topics is not None:
        known += f"; topics without a value of their own: {seen.topics}"
    return make(
        "elr-min-insync-unknown",
        f"feature {ELR_VERSION}",
        f"enabling {ELR_VERSION} writes {MIN_INSYNC} for the whole cluster unless it has one, and what that changes "
        f"cannot be predicted: {why}{known}",
        f"Give the user DESCRIBE_CONFIGS, set the cluster's value first ({_CLUSTER_VALUE.format(value='VALUE')}), or "
        f"accept the value that will be written: {OPTION} VALUE",
        reason=why,
        written=value,
        topics=None if seen is None else seen.topics,
    )


def _evidence(seen: MinInsync, value: str, changed: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    return {
        "written": None if seen.cluster is not None else int(value) if value.isdigit() else value,
        "cluster_value_before": seen.cluster,
        "cluster_value_after": value,
        "controllers": {str(controller): text for controller, text in seen.controllers.items()},
        "brokers": {held: list(ids) for held, ids in seen.by_value().items()},
        "changes": [{"from": held, "to": value, "brokers": list(ids)} for held, ids in changed.items()],
        "deleted_from_brokers": list(seen.single),
        "topics": seen.topics,
        "topics_with_own_value": seen.topics_with_own_value,
    }


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
