"""Profiles of hypothesis with their numbers of examples: KAFKACTL_HYPOTHESIS names the profile.

`check` (the default, and `make test`), `mutants` (what a mutant has to survive) and `quick` (`make check`) try the same
examples every time; `campaign` tries many, others each time. A test with a number of its own says `examples(60)`, of
which `quick` tries a quarter.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "quick", max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "mutants", max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "check", max_examples=80, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "campaign", max_examples=20_000, deadline=None, print_blob=True, suppress_health_check=_SLOW_IS_FINE
)


def examples(usual: int) -> int:
    """Return the number of a test that has one of its own: as many, and in `make check` a quarter of them, or five."""
    return max(usual // 4, min(usual, 5)) if os.environ.get("KAFKACTL_HYPOTHESIS") == "quick" else usual


def load() -> None:
    """Choose the profile for this run."""
    settings.load_profile(os.environ.get("KAFKACTL_HYPOTHESIS", "check"))
