"""How many examples hypothesis tries: KAFKACTL_HYPOTHESIS names the profile.

`check` (the default, and `make test`) and `quick` (`make check`) try the same examples every time; `campaign` tries
many, others each time. A test that has settings of its own keeps them.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "quick", max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "check", max_examples=80, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "campaign", max_examples=20_000, deadline=None, print_blob=True, suppress_health_check=_SLOW_IS_FINE
)


def load() -> None:
    """Choose the profile for this run."""
    settings.load_profile(os.environ.get("KAFKACTL_HYPOTHESIS", "check"))
