"""A change of feature levels as a file: planned and reviewed at one time, applied at another.

Invariant: what is sent is what was reviewed. The file states what was asked for, which levels the cluster had, and
every change and step that followed. Applying it plans again from the cluster as it is now; the steps that come out have
to be those of the file, or the last of them if the first were taken already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkactl.change.plan_document import (
    CHECKSUM,
    flag_in,
    levels_in,
    list_in,
    not_a_plan,
    number_in,
    read_document,
    table_in,
    tables_in,
    text_in,
)
from kafkactl.cluster.state import LEVEL_OF_SILENCE
from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.findings import Finding, Severity, blocker
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.features.plan.change import UpgradeType, upgrade_type
from kafkactl.features.plan.plan import FeaturePlan
from kafkactl.features.plan.request import FeatureRequest, Operation

KIND: Final = "features.plan"
SCHEMA_VERSION: Final = 1
MADE_BY: Final = "kafkactl features plan … --out plan.json"


@frozen
class PlannedLevels:
    """A request of the plan: the levels that it asks for, by feature, and its type."""

    levels: Mapping[str, int]
    type: UpgradeType


@frozen
class FeaturePlanFile:
    """Content of a plan file. `levels` are those of the cluster when it was planned, level 0 may be left out.

    `changes` are as `features.change` shows them; `warnings` the (id, subject) of those that were reviewed.
    """

    sha256: str
    cluster_id: str
    created_ms: int
    request: FeatureRequest
    levels: Mapping[str, int]
    changes: tuple[Mapping[str, Any], ...]
    steps: tuple[PlannedLevels, ...]
    warnings: frozenset[tuple[str, str]]


def plan_document(plan: FeaturePlan, *, created_ms: int) -> dict[str, Any]:
    """Return the content of the file, without its checksum.

    `plan` is one that was planned, with the id of its cluster.
    """
    request = plan.request
    return {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "cluster_id": plan.cluster_id,
        "created_ms": created_ms,
        "request": {
            "operation": request.operation.value,
            "levels": dict(request.levels),
            "unsafe": request.unsafe,
            "release_version": request.release_version,
            "left_out": request.left_out,
            "accepted_min_insync": request.accepted_min_insync,
        },
        "levels": dict(plan.levels),
        "changes": [change.to_dict() for change in plan.changes],
        "steps": [step.to_dict() for step in plan.steps],
        "findings": [finding.to_dict() for finding in plan.findings],
    }


_WARNING: Final = "warning "  # how a difference begins that is a warning the file does not show
_ONLY_WARNED: Final = (
    "Levels and steps are those of the plan. Correct what the warning is about, and apply the same file again; or plan "
    "again, and review the new plan with the warning."
)


def read_plan(data: bytes, *, file: str) -> FeaturePlanFile:
    """Read a plan file.

    Raises InputError `not-a-plan-file`, RefusedError `plan-file-edited`, and RefusedError `plan-forged` if its steps
    are not those that its own request makes of its own levels.
    """
    document = read_document(data, file=file, kind=KIND, schema_version=SCHEMA_VERSION, made_by=MADE_BY)
    try:
        plan = _plan_from(document)
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise not_a_plan(file, f"{type(error).__name__}: {error}", MADE_BY) from None
    for problem in _forged(plan):
        raise RefusedError(f"{file} was not made by `features plan`: {problem}", id="plan-forged")
    return plan


def as_planned(plan: FeaturePlan, file: FeaturePlanFile | None) -> FeaturePlan:
    """Return the plan, with no step and a blocker if it is not what is left of the file's plan.

    None: any plan is.
    """
    found = [] if file is None else check_plan(file, plan)
    return changed(plan, steps=(), findings=(*found, *plan.findings)) if found else plan


def check_plan(file: FeaturePlanFile, plan: FeaturePlan) -> list[Finding]:
    """Return a blocker where `plan`, made from the cluster as it is now, is not what is left of the file's plan."""
    if plan.cluster_id != file.cluster_id:
        return [
            blocker(
                "cluster-id-mismatch",
                "cluster",
                f"the plan was made for cluster {file.cluster_id}, and {plan.cluster_id} answers",
                "Nothing was changed. Check the addresses, and the plan file.",
                planned=file.cluster_id,
                found=plan.cluster_id,
            )
        ]
    if any(finding.id == "no-active-controller" for finding in plan.findings):
        return []  # a blocker already, and what could not be read has not changed
    differences = tuple(_differences(file, plan))
    if not differences:
        return []
    listed = "; ".join(f"{what}: planned {planned}, found {found}" for what, planned, found in differences)
    return [
        blocker(
            "cluster-changed-since-plan",
            "cluster",
            f"the cluster is not in the state that the plan was made for: {listed}",
            _ONLY_WARNED if all(what.startswith(_WARNING) for what, _, _ in differences) else "",
            changed=[{"what": what, "planned": planned, "found": found} for what, planned, found in differences],
        )
    ]


def _differences(file: FeaturePlanFile, plan: FeaturePlan) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differences from the file, as (what, planned, found)."""
    taken = _steps_taken(file, plan.levels)
    if taken is None:
        for name in sorted({*file.levels, *plan.levels}):
            before, now = file.levels.get(name, 0), plan.levels.get(name, 0)
            if before != now:
                yield f"level of {name}", before, now
        return
    left = [step.levels for step in file.steps[taken:]]
    found = [step.levels for step in plan.steps]
    # A plan with a blocker has no steps; its blockers say what is wrong.
    if plan.steps and found != [dict(levels) for levels in left]:
        yield "steps", _words(left), _words(found)
    if taken:
        return
    reviewed = {change.get("name"): change for change in file.changes}
    for change in plan.changes:
        shown = change.to_dict()
        planned = reviewed.get(change.name, {})
        yield from (
            (f"{key} of {change.name}", planned.get(key), shown[key]) for key in shown if planned.get(key) != shown[key]
        )
    for finding in plan.findings:
        if finding.severity is Severity.WARNING and (finding.id, finding.subject) not in file.warnings:
            yield f"{_WARNING}{finding.id} ({finding.subject})", "none", finding.message


def _steps_taken(file: FeaturePlanFile, levels: Mapping[str, int]) -> int | None:
    """Return the number of the file's steps after which a cluster has these levels; None if there is none."""
    expected = dict(file.levels)
    for taken in range(len(file.steps) + 1):
        if _same(expected, levels):
            return taken
        if taken < len(file.steps):
            expected |= file.steps[taken].levels
    return None


def _same(expected: Mapping[str, int], levels: Mapping[str, int]) -> bool:
    return all(expected.get(name, 0) == levels.get(name, 0) for name in {*expected, *levels})


def _words(steps: list[Any]) -> list[str]:
    return [", ".join(f"{name}={level}" for name, level in levels.items()) for levels in steps]


def _forged(plan: FeaturePlanFile) -> Iterator[str]:
    """Yield the statements of the file that contradict its own request and levels."""
    wanted = {name: (_level(plan, name), level) for name, level in plan.request.levels.items()}
    moving = {name: after for name, (before, after) in wanted.items() if before != after}
    stepped: dict[str, int] = {}
    for step in plan.steps:
        if stepped.keys() & step.levels.keys():
            yield "a feature is in two of its steps"
        if step.type is not upgrade_type(plan.request):
            yield f"a step is of type {step.type.name.lower()}, and the request is to {plan.request.operation.value}"
        stepped |= step.levels
    if stepped != moving:
        yield f"its steps set {stepped}, and its request changes {moving}"
    shown = {change.get("name"): (change.get("from"), change.get("to")) for change in plan.changes}
    if shown != wanted:
        yield f"it shows the changes {shown}, and its request makes {wanted}"


def _level(plan: FeaturePlanFile, name: str) -> int:
    """Return the level of a feature as `ClusterState.level` does."""
    return plan.levels.get(name, LEVEL_OF_SILENCE if name == METADATA_VERSION else 0)


def _plan_from(document: Mapping[str, Any]) -> FeaturePlanFile:
    asked = table_in(document, "request")
    release, accepted = asked["release_version"], asked["accepted_min_insync"]
    request = FeatureRequest(
        operation=Operation(text_in(asked, "operation")),
        levels=levels_in(asked, "levels"),
        unsafe=flag_in(asked, "unsafe"),
        release_version=None if release is None else text_in(asked, "release_version"),
        left_out=flag_in(asked, "left_out"),
        accepted_min_insync=None if accepted is None else number_in(asked, "accepted_min_insync"),
    )
    steps = tables_in(document, "steps")
    if not steps or [number_in(step, "number") for step in steps] != list(range(1, len(steps) + 1)):
        raise ValueError("steps are not counted from 1")
    list_in(document, "findings")
    return FeaturePlanFile(
        sha256=text_in(document, CHECKSUM),
        cluster_id=text_in(document, "cluster_id"),
        created_ms=number_in(document, "created_ms"),
        request=request,
        levels=levels_in(document, "levels"),
        changes=tuple({**change, "name": text_in(change, "name")} for change in tables_in(document, "changes")),
        steps=tuple(
            PlannedLevels(levels=levels_in(step, "features"), type=_type_of(text_in(step, "type"))) for step in steps
        ),
        warnings=frozenset(
            (text_in(finding, "id"), str(finding["subject"])) for finding in tables_in(document, "findings")
        ),
    )


def _type_of(word: str) -> UpgradeType:
    by_word = {kind.name.lower().replace("_", "-"): kind for kind in UpgradeType}
    if word not in by_word:
        raise ValueError(f"{word!r} is not a type of step")
    return by_word[word]
