"""Property tests here follow the profile that KAFKACTL_HYPOTHESIS names."""

from __future__ import annotations

from tests.hypothesis_profiles import load

load()
