"""Scenarios by name: `run` simulates one on a state, `chain` several, each on the state after the one before.

The scenarios are the modules of `kafkactl.dryrun.scenarios`; one is imported when it is asked for.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.dryrun import scenarios
from kafkactl.dryrun.fields import INVALID_INPUT
from kafkactl.dryrun.prediction import Prediction, Verdict, heaviest
from kafkactl.dryrun.scenario import Needs, Scenario, ScenarioContext


def scenario_names() -> tuple[str, ...]:
    """Return the names of all scenarios, sorted."""
    modules = pkgutil.iter_modules(scenarios.__path__)
    return tuple(sorted(module.name.replace("_", "-") for module in modules))


def find_scenario(name: str) -> Scenario:
    """Return the scenario of that name. Raise InputError `unknown-scenario`."""
    known = scenario_names()
    if name not in known:
        raise InputError(
            f"there is no scenario {name!r}", id="unknown-scenario", next_step=f"Scenarios are: {', '.join(known)}."
        )
    found: Scenario = import_module(f"{scenarios.__name__}.{name.replace('-', '_')}").SCENARIO
    return found


def run(name: str, context: ScenarioContext, asked: Any) -> Prediction:
    """Simulate one scenario. `asked` is its `Input`, or a mapping with the fields of the `input` of its answer.

    Raises InputError `unknown-scenario`, `invalid-scenario-input`, as `check_reading`, and what the scenario raises.
    """
    scenario = find_scenario(name)
    check_reading(scenario, context)
    try:
        given = scenario.input_of(asked) if isinstance(asked, Mapping) else asked
        found = scenario.simulate(context, given)
    except InputError as error:
        raise (error if error.id == INVALID_INPUT else _on_damage(error, context)) from None
    return _on_what_was_read(found, context)


def check_reading(scenario: Scenario, context: ScenarioContext | None) -> None:
    """Raise InputError `scenario-needs-log` if a scenario is about more than was read; None: an image alone."""
    has_needed = context is not None and (scenario.needs is not Needs.STARTS or bool(context.started))
    if scenario.needs is not Needs.STATE and not has_needed:
        raise InputError(
            f"scenario {scenario.name} is about the metadata log, and the state given does not hold"
            " what was read of it",
            id="scenario-needs-log",
        )


def chain(
    context: ScenarioContext, events: Iterable[tuple[str, Mapping[str, Any]]]
) -> tuple[ScenarioContext, list[Prediction]]:
    """Simulate scenarios one after the other; the context after the last, and what each came to."""
    from kafkactl.dryrun.chain import after

    found = []
    for name, asked in events:
        prediction = run(name, context, asked)
        found.append(prediction)
        image, facts = after(context.image, prediction)
        context = replace(context, loaded=replace(context.loaded, image=image), facts=facts)
    return context, found


def _on_what_was_read(found: Prediction, context: ScenarioContext) -> Prediction:
    """Add the findings about the log to the prediction; a damaged log excludes a good verdict."""
    from kafkactl.dryrun.engine.local import GAP

    of_log = context.loaded.findings
    broken = [finding for finding in of_log if finding.severity is Severity.BLOCKER]
    is_sound = not broken and not any(note.severity is Severity.BLOCKER for note in context.notes)
    verdict = found.verdict if is_sound else heaviest([found.verdict, Verdict.UNKNOWN])
    gaps = [finding for finding in of_log if finding.id == GAP and finding not in broken]
    shown = of_log if found.scenario == "replay" else (*broken, *gaps)
    return replace(found, verdict=verdict, findings=(*found.findings, *context.notes, *_by_id(shown)))


def _on_damage(error: InputError, context: ScenarioContext) -> InputError:
    """Add the damage of the log to an error: the unreadable part may contain the missing object."""
    broken = next((finding for finding in context.loaded.findings if finding.severity is Severity.BLOCKER), None)
    if broken is None:
        return error
    cause = f"This log was not read whole: {broken.message}."
    return InputError(error.message, id=error.id, cause=error.cause or cause, next_step=error.next_step)


def _by_id(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the first finding of each id, with the number of the others."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.id, []).append(finding)
    for first, *others in groups.values():
        more = f"; {len(others)} more like it" if others else ""
        evidence = {**first.evidence, "count": len(others) + 1}
        yield replace(first, message=first.message + more, evidence=evidence)
