"""Files near 64 MiB, sound and hostile, in bounded memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.fuzz.target import MOST_INPUT_BYTES
from tests.samples.test_large_inputs import CASES, check_bounded


@pytest.mark.parametrize(("name", "filling"), CASES)
def test_file_near_64_mib_is_bounded(name: str, filling: str, tmp_path: Path) -> None:
    check_bounded(name, filling, MOST_INPUT_BYTES - (1 << 20), tmp_path)
