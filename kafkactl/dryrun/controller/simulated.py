"""Simulation of a voter change for figures that no log has: times of elections, and a second failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Prediction

MOST_RUNS: Final = 10_000
ASSUMED: Final = (
    "simulated: links within one site (1 to 2 ms each way), empty logs, disks that sync at once; times are of the "
    "right size and not exact (docs/simulate.md)"
)


def check_runs(runs: int, seed: int) -> None:
    """Raise InputError `invalid-simulation` for more runs, or a seed, than can be."""
    if runs > MOST_RUNS or seed >= 2**63:
        raise InputError(
            f"{runs} runs from seed {seed} on were asked for, expected at most {MOST_RUNS} and a seed below 2^63",
            id="invalid-simulation",
            next_step="Give another --simulate or --seed.",
        )


def with_simulation(
    found: Prediction,
    *,
    added: int | None,
    removed: int | None,
    lost: Iterable[int],
    is_static: bool,
    runs: int,
    seed: int,
) -> Prediction:
    """Return a prediction about voters with the field `simulation` and its assumptions; unchanged if the voters are
    unknown.

    The simulated event is what is `added`, `removed` or `lost`, or no event if the controller would refuse it. The
    field is null if no majority is alive, because then no leader is elected and no simulation can begin.
    """
    voters, alive = found.effects.get("voters"), found.effects.get("alive")
    if voters is None or alive is None:
        return found
    simulation = _simulated(
        found.facts,
        frozenset(voters["before"]),
        frozenset(alive["before"]),
        added=added,
        removed=removed,
        lost=lost,
        is_static=is_static,
        runs=runs,
        seed=seed,
    )
    return changed(
        found,
        input={**found.input, "simulate": runs, "seed": seed},
        effects={**found.effects, "simulation": simulation},
        assumptions=(*found.assumptions, ASSUMED),
    )


def _simulated(
    facts: Facts,
    voters: frozenset[int],
    alive: frozenset[int],
    *,
    added: int | None,
    removed: int | None,
    lost: Iterable[int],
    is_static: bool,
    runs: int,
    seed: int,
) -> Any:
    from kafkactl.simulator.campaign import timeouts_of
    from kafkactl.simulator.script import CONFIGS, MAX_VOTERS
    from kafkactl.simulator.study import ADD, LOSE, REMOVE, VoterAction, VoterStep, study
    from kafkactl.simulator.words import MAX_ID

    if len(alive) <= len(voters) // 2 or len(voters) > MAX_VOTERS or max(voters) > MAX_ID:
        return None
    gone = tuple(sorted(set(lost) & voters))
    action: VoterAction | None = ADD if added is not None else REMOVE if removed is not None else LOSE if gone else None
    node = added if added is not None else removed
    steps = [] if action is None else [
        VoterStep(
            number=1,
            action=action,
            voters=tuple(sorted(voters)),
            node=node,
            lost=gone,
            down=voters - alive,
            others=() if added is None else (added,),
            leader=facts.leader_id if facts.leader_id in alive else None,
        )
    ]  # fmt: skip
    return study(
        tuple(sorted(voters)),
        [facts.release.name],
        steps,
        runs=runs,
        seed=seed,
        down=voters - alive,
        timeouts=timeouts_of(_timeouts(facts.static, CONFIGS)),
        is_static=is_static,
    ).to_dict()


def _timeouts(static: Mapping[str, str], known: Iterable[str]) -> dict[str, int]:
    """Return the timeouts that the file sets to a number; another value would stop the node, and is omitted here."""
    return {name: int(static[name]) for name in known if static.get(name, "").strip().isascii() and
            static.get(name, "").strip().isdigit()}  # fmt: skip
