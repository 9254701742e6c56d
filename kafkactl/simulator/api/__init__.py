"""A quorum of controllers in virtual time: a script of events, or faults drawn from a seed.

    found = kafkactl.simulate.script("wedge.txt", release="3.9", runs=20)
    found.verdict, found.to_dict()["figures"]["failover_ms"]
    kafkactl.simulate.profile("chaos", voters=(1, 2, 3, 4, 5), seed=7)

Equal arguments give equal results on every machine; no cluster is asked. The language is described in
docs/simulate.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from kafkactl.simulator.api.simulation import Simulation, SimulationRequest, ignore_progress, simulate

__all__ = ["Simulation", "profile", "script"]


def script(
    path: str | os.PathLike[str],
    *,
    voters: tuple[int, ...] | None = None,
    observers: tuple[int, ...] | None = None,
    release: str | None = None,
    is_static: bool | None = None,
    seed: int = 0,
    runs: int = 1,
    on_progress: Callable[[int], None] = ignore_progress,
) -> Simulation:
    """Run a script with `runs` seeds from `seed` on. None is what the script says, or else the default.

    `on_progress` gets the number of runs that are over. Raises InputError: `invalid-script` with file, line and
    column, `invalid-simulation`, and what reading the file raises.
    """
    request = SimulationRequest(
        script=os.fspath(path),
        voters=voters,
        observers=observers,
        release=release,
        is_static=is_static,
        seed=seed,
        runs=runs,
    )
    return simulate(request, on_progress=on_progress)


def profile(
    name: str,
    *,
    voters: tuple[int, ...] | None = None,
    observers: tuple[int, ...] | None = None,
    release: str | None = None,
    is_static: bool | None = None,
    seed: int = 0,
    runs: int = 1,
    duration_ms: int = 60_000,
    shrinks: bool = True,
    on_progress: Callable[[int], None] = ignore_progress,
) -> Simulation:
    """Run a profile of faults (chaos, rolling-restart, voter-change, disk-loss) with `runs` seeds from `seed` on.

    `duration_ms` is how long faults go on, in virtual time. With `shrinks` the first run that fails is brought to the
    fewest statements that fail alike. Raises InputError `invalid-simulation`.
    """
    request = SimulationRequest(
        profile=name,
        voters=voters,
        observers=observers,
        release=release,
        is_static=is_static,
        seed=seed,
        runs=runs,
        duration_ms=duration_ms,
        shrinks=shrinks,
    )
    return simulate(request, on_progress=on_progress)
