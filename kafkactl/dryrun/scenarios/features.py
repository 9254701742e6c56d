"""Scenario `features`: a change of feature levels, judged and worded as the controller would.

What is checked is `features.plan` (every reason at once) and `features.predict` (whether Kafka refuses); here are the
words of the refusal, the records, and what they bring about. Sources: `FeatureControlManager.java`,
`ConfigurationControlManager.java` (what turning ELR on writes); texts and record orders measured on 4.0.2 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Final, cast

from kafkactl.cluster.state import ClusterState
from kafkactl.core.findings import Finding, Severity, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import ELR_VERSION, KRAFT_VERSION, METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.core.wording import first_few
from kafkactl.dryrun.answer import Feature, Step
from kafkactl.dryrun.controller.appended_records import Operation, record
from kafkactl.dryrun.controller.facts import MIN_ISR, Facts
from kafkactl.dryrun.controller.feature_state import state_of
from kafkactl.dryrun.fields import LevelTable, NodeIds
from kafkactl.dryrun.prediction import Prediction, ServerError, Verdict, findings_for
from kafkactl.dryrun.scenario import TITLE_NAMES, Option, OptionsError, Scenario, ScenarioContext
from kafkactl.dryrun.scenarios.controllers import known_voters
from kafkactl.features.plan.change import upgrade_type
from kafkactl.features.plan.checks_nodes import never_registered
from kafkactl.features.plan.plan import FeaturePlan, plan_change
from kafkactl.features.plan.predict import predicted_acceptance
from kafkactl.features.plan.request import FeatureRequest, parse_request
from kafkactl.features.plan.request import Operation as Asked
from kafkactl.metadata.image.model import BROKER_CONFIG, Image
from kafkactl.protocol.catalog.consequences import finalized_name
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.update_rules import update_rules
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.spec import Versions

NAME: Final = "features"

INVALID_UPDATE_VERSION: Final = 95
_ADVICE = " Retry using UNSAFE_DOWNGRADE if you want to force the downgrade to proceed."
_PREFIX = "The update failed for all features since the following feature had an error: "


def feature_levels(
    image: Image,
    facts: Facts,
    request: FeatureRequest,
    *,
    cluster_id: str = "",
    voters: tuple[int, ...] = (),
    down: frozenset[int] = frozenset(),
    not_alive: Mapping[int, str] | None = None,
) -> Prediction:
    """Predict a change of levels.

    `down` are nodes that do not answer now; `voters` those of a static quorum, as the last LeaderChange record names
    them. `not_alive` are voters that were not observed to follow the live leader, if it was asked, with the evidence;
    they are handled as down.

    The verdict is `refused` where Kafka refuses all of it, and where Kafka would accept a change that a blocker speaks
    against (`kafkactl features` refuses that; `accepted_by_kafka` and the records say what Kafka does). `steps` are
    those of `kafkactl features`, none if it would refuse.
    """
    unseen = not_alive or {}
    down = down | frozenset(unseen)
    members, source = _quorum_of(image, facts, voters)
    state = state_of(image, facts, cluster_id=cluster_id, voters=members, down=down)
    plan = plan_change(state, request)
    findings = tuple(_of_a_log(finding) for finding in plan.findings)
    accepted = predicted_acceptance(state, request.levels, upgrade_type(request))
    taken = {name: level for name, level in request.levels.items() if accepted[name] is not False}
    return Prediction(
        scenario=NAME,
        input=_input(request, down),
        verdict=(verdict := _verdict(findings, accepted)),
        facts=facts,
        findings=tuple(findings_for(verdict, findings)),
        operations=tuple(_operations(image, facts, taken)),
        effects={
            "features": [_feature(state, plan, name, accepted) for name in request.levels],
            "steps": [cast(Step, step.to_dict()) for step in plan.steps],
        },
        assumptions=(
            "nodes that are not named as down answer as their registrations say, controllers without one as their "
            "release does",
            "one request carries all levels, as Kafka's own tool sends them; `kafkactl features` may send several",
            *(
                f"controller {id} is considered down: it {reason} while the live leader was watched"
                for id, reason in sorted(unseen.items())
            ),
            *_conversion_assumed(state, plan, source),
        ),
    )


def _quorum_of(image: Image, facts: Facts, voters: Collection[int]) -> tuple[tuple[int, ...], str]:
    """Return the voters and where they were found.

    Controllers that registered stand in if nothing names the voters.
    """
    found = known_voters(image, facts, voters)
    if found is not None:
        return tuple(sorted(found[0])), found[1]
    return tuple(image.controllers), "the controllers registered in the log, which does not name the voters"


def _conversion_assumed(state: ClusterState, plan: FeaturePlan, source: str) -> Iterator[str]:
    """Yield the assumption of an expected conversion to a dynamic quorum: a log lacks the voters' reports to a
    leader."""
    raised = any(change.name == KRAFT_VERSION and change.after > change.before for change in plan.changes)
    if raised and update_rules(state.rules_release).kraft_version == "converts":
        ids = ", ".join(str(voter.id) for voter in state.voters or ()) or "none known"
        yield (
            f"every voter that is not named as down ({ids}; as in {source}) has reported to the present leader that it "
            "supports kraft.version 1: each voter does so within some seconds of an election, and until then the "
            "leader refuses the change"
        )


def _of_a_log(finding: Finding) -> Finding:
    """Return the finding, as a warning if it is about the files of the brokers, which no log holds."""
    if finding.id != "elr-min-insync-unknown":
        return finding
    step = (
        f"Compare the value that is written with {MIN_ISR} in the brokers' files; `kafkactl features plan` reads them."
    )
    return changed(finding, severity=Severity.WARNING, next_step=step)


def _verdict(findings: Sequence[Finding], accepted: Mapping[str, bool | None]) -> Verdict:
    """Return refused if nothing is accepted or a blocker concerns all of it, unknown if only the leader can decide.

    Where Kafka takes a part of the request (3.x), the reasons against the rest are warnings.
    """
    if all(answer is False for answer in accepted.values()):
        return Verdict.REFUSED
    if None in accepted.values():
        return Verdict.UNKNOWN
    if blockers(findings) and False not in accepted.values():
        return Verdict.REFUSED
    warned = any(finding.severity is not Severity.INFO for finding in findings)
    return Verdict.DEGRADED if warned or False in accepted.values() else Verdict.OK


def _feature(state: ClusterState, plan: FeaturePlan, name: str, accepted: Mapping[str, bool | None]) -> Feature:
    change = next(change for change in plan.changes if change.name == name)
    error = _server_error(state, plan.request, accepted) if accepted[name] is False else None
    verdict = {True: Verdict.OK, False: Verdict.REFUSED, None: Verdict.UNKNOWN}[accepted[name]]
    return {
        "name": name,
        "from": change.before,
        "to": change.after,
        "kind": change.kind.value,
        "verdict": verdict,
        "accepted_by_kafka": accepted[name],
        "server_error": error,
        "reversible": change.reversible,
        "consequences": list(change.consequences),
        "way_back": change.how_to_undo or None,
    }


def _server_error(state: ClusterState, request: FeatureRequest, accepted: Mapping[str, bool | None]) -> ServerError:
    """Return the error of the first feature that is refused; 4.x returns it for the whole request."""
    rules = update_rules(state.rules_release)
    whole = rules.results == "whole"
    for name, level in request.levels.items():
        if accepted[name] is False:
            words = _words(state, request, name, level)
            if words:
                return ServerError(code=INVALID_UPDATE_VERSION, message=f"{_PREFIX if whole else ''}{words}")
    return ServerError(code=INVALID_UPDATE_VERSION, message=None)


def _words(state: ClusterState, request: FeatureRequest, name: str, level: int) -> str:
    """Return Kafka's sentence for one refused feature, "" if another one is refused."""
    if name == KRAFT_VERSION and state.unreported:
        return f"Invalid upgrade of kraft.version to KRAFT_VERSION_{level} because not all of the voters support it"
    words = _out_of_range(state, name, level) or _wrong_way(state, request, name, level)
    if words:
        return f"Invalid update version {level} for feature {name}. {words}"
    least = update_rules(state.rules_release).lowest_level
    if name == METADATA_VERSION and level < least:
        least_name = finalized_name(METADATA_VERSION, least)
        return f"Invalid metadata.version {level}. Unable to set a metadata.version less than {least_name}"
    if name == METADATA_VERSION and level < state.level(name):
        return _crossing(state, request, state.level(name), level)
    return _dependency(state, request, name, level)


def _out_of_range(state: ClusterState, name: str, level: int) -> str:
    for who, supported in _ranges_asked(state, name):
        if supported is None and level:
            return f"{who} does not support this feature."
        if supported is not None and level not in supported:
            return f"{who} only supports versions {supported.lowest}-{supported.highest}"
    silent = [
        member.id for member in state.members if never_registered(state, update_rules(state.rules_release), member)
    ]
    return f"controller {silent[0]} has not registered, and may not support this feature" if silent else ""


def _wrong_way(state: ClusterState, request: FeatureRequest, name: str, level: int) -> str:
    upgrade, before = request.operation is Asked.UPGRADE, state.level(name)
    if level < before and upgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    if level > before and not upgrade:
        return "Can't downgrade to a newer version."
    return "Can't downgrade the version of this feature." if name == KRAFT_VERSION and level < before else ""


def _crossing(state: ClusterState, request: FeatureRequest, before: int, level: int) -> str:
    rules = update_rules(state.rules_release)
    old = rules.kraft_version in ("unknown", "pretends", "ignores")
    start = f"Invalid metadata.version {level}." if old else (
        f"Unsupported metadata.version downgrade from {before} to {level}."
    )  # fmt: skip
    if request.unsafe:
        return f"{start} Unsafe metadata downgrade is not supported in this version."
    refusal = f"{start} Refusing to perform the requested downgrade because it might delete metadata information."
    return refusal + (_ADVICE if rules.suggests_unsafe else "")


def _dependency(state: ClusterState, request: FeatureRequest, name: str, level: int) -> str:
    facts = features_of(state.rules_release).get(name)
    needs = next((row.dependencies for row in facts.levels if row.level == level), {}) if facts else {}
    proposed = {METADATA_VERSION: state.level(METADATA_VERSION), **state.finalized, **request.levels}
    for needed, least in needs.items():
        if proposed.get(needed, 0) < least:
            return f"{name} could not be set to {level} because it depends on {needed} level {least}"
    return ""


def _ranges_asked(state: ClusterState, name: str) -> Iterator[tuple[str, Versions | None]]:
    """Yield the supported ranges that the controller checks, each with the name in its message."""
    yield f"Local controller {state.active_controller}", (state.controller_range or {}).get(name)
    for member in state.members:
        if member.listed is None or (member.role is Role.CONTROLLER and member.id == state.active_controller):
            continue
        yield f"{member.role.value.capitalize()} {member.id}", member.listed.get(name)


def _operations(image: Image, facts: Facts, levels: Mapping[str, int]) -> Iterator[Operation]:
    """Yield one batch: configurations first, then the levels; kraft.version is in control records from 4.1 on.

    A level that is already finalized is written again (measured).
    """
    items: list[MetadataRecord] = []
    before = image.features.get(ELR_VERSION, 0)
    if levels.get(ELR_VERSION, before) > before:
        items += _elr_configs(image, facts)
    control = update_rules(facts.release).kraft_version == "converts"
    for name, level in levels.items():
        if name != KRAFT_VERSION or not control:
            items.append(record("FeatureLevelRecord", {"Name": name, "FeatureLevel": level}))
    if items:
        words = ", ".join(f"{name} {level}" for name, level in levels.items())
        yield Operation(f"levels: {words}", tuple(items))


def _elr_configs(image: Image, facts: Facts) -> Iterator[MetadataRecord]:
    """Yield the records of enabling ELR: min.insync.replicas for a cluster without one, and its removal for brokers."""
    if MIN_ISR not in image.configs.get((BROKER_CONFIG, ""), {}):
        yield _min_isr("", facts.static.get(MIN_ISR, "1"))
    for (kind, name), held in sorted(image.configs.items()):
        if kind == BROKER_CONFIG and name and MIN_ISR in held:
            yield _min_isr(name, None)


def _min_isr(broker: str, value: str | None) -> MetadataRecord:
    data = {"ResourceType": BROKER_CONFIG, "ResourceName": broker, "Name": MIN_ISR, "Value": value}
    return record("ConfigRecord", data)


def _input(request: FeatureRequest, down: frozenset[int]) -> dict[str, Any]:
    return {
        "operation": request.operation.value,
        "levels": dict(request.levels),
        "unsafe": request.unsafe,
        "release_version": request.release_version,
        "down": sorted(down),
    }


@frozen
class Input:
    """The levels that are asked for, or the release that they were made from. `down` are nodes that do not answer."""

    operation: Asked
    levels: LevelTable = field(default_factory=dict)
    unsafe: bool = False
    release_version: str | None = None
    down: NodeIds = ()

    ONE_OF: ClassVar = (("levels", "release_version"),)


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the change of levels, on a quorum as it was observed if it was asked."""
    request = FeatureRequest(
        operation=asked.operation,
        levels=asked.levels,
        unsafe=asked.unsafe,
        release_version=asked.release_version,
    )
    return feature_levels(
        context.image,
        context.facts,
        request,
        cluster_id=context.cluster_id or "",
        voters=context.loaded.voters,
        down=frozenset(asked.down),
        not_alive={} if context.observed is None else context.observed.not_alive,
    )


def _from_options(
    *,
    upgrade: Sequence[str],
    downgrade: Sequence[str],
    disable: Sequence[str],
    release_version: str | None,
    unsafe: bool,
    down: tuple[int, ...],
) -> Input:
    """Return the input of these options. Raise OptionsError, and the errors of `parse_request`."""
    ways = {Asked.UPGRADE: upgrade, Asked.DOWNGRADE: downgrade, Asked.DISABLE: disable}
    given = [way for way, named in ways.items() if named]
    if len(given) > 1 or bool(given) == (release_version is not None):
        raise OptionsError("Give one of --upgrade, --downgrade, --disable and --release-version.")
    operation = given[0] if given else Asked.UPGRADE
    request = parse_request(operation, features=ways[operation], release_version=release_version, unsafe=unsafe)
    return Input(
        operation=request.operation,
        levels=request.levels,
        unsafe=request.unsafe,
        release_version=request.release_version,
        down=down,
    )


def _title(asked: Mapping[str, Any]) -> str:
    if asked.get("release_version"):
        what = f"the levels of {asked['release_version']}"
    else:
        levels = dict(asked.get("levels") or {})
        what = first_few([f"{name}={level}" for name, level in levels.items()], TITLE_NAMES)
    verb = {"upgrade": "Upgrade", "downgrade": "Downgrade", "disable": "Disabling"}.get(
        str(asked.get("operation")), "Change"
    )
    how = ", unsafe" if asked.get("unsafe") else ""
    return f"{verb} of {what}{how}" if verb == "Disabling" else f"{verb} to {what}{how}"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="""What the controller would answer to a change of feature levels, and what the change does.

    With --from-cluster, voters that are not seen to follow the live leader count as down.
    """,
    about="Feature levels change.",
    input=Input,
    simulate=simulate,
    examples=(
        "kafkactl dryrun features /disk1/__cluster_metadata-0 --upgrade metadata.version=30",
        "kafkactl dryrun features /disk1/__cluster_metadata-0 --release-version 4.3",
    ),
    options=(
        Option("upgrade", "Raise a feature.", metavar="NAME=LEVEL", is_repeatable=True),
        Option("downgrade", "Lower a feature.", metavar="NAME=LEVEL", is_repeatable=True),
        Option("disable", "Turn a feature off.", metavar="NAME", is_repeatable=True),
        Option("release_version", "Raise all features to those of a release.", metavar="R"),
        Option("unsafe", "A downgrade that accepts losses."),
        Option("down", "Nodes that do not answer now."),
    ),
    effects=("features", "steps"),
    from_options=_from_options,
    watches=lambda _: frozenset(),
)
