"""The code of docs/spark.md runs as it is printed there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.logs import write_all_logs

pytestmark = pytest.mark.slow
pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_blocks_run_in_their_order(session: SparkSession, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day in ("2026-11-27", "2026-11-28"):
        write_all_logs(root / day, releases=("4.3.1", "4.4.0"), made=False)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {"spark": session}
    for block in blocks:
        exec(compile(block.replace("/backup/", f"{root}/"), str(PAGE), "exec"), names)  # the page's own code
    printed = capsys.readouterr().out
    assert len(blocks) == 6 and printed.count("+--") > 12
    assert "ConfigRecord" not in printed and "4.4.0" in printed and "unavailable" not in printed
