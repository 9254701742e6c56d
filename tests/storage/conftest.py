"""Fixtures of the tests of formatting and verifying."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.storage.verify.nodes import VerifyNode


@pytest.fixture
def node(tmp_path: Path, kafkactl: Callable[..., Run]) -> Callable[[str], VerifyNode]:
    """Make a node of a version, on disks under the test's folder."""
    return lambda version: VerifyNode(tmp_path, kafkactl, version)
