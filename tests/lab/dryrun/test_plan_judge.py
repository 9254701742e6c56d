"""Reassignment plans against the released class that reads them (`ReassignPartitionsCommand`)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.dryrun.test_reassignment_plan import REFUSED, TAKEN
from tests.lab.harness import java
from tests.lab.harness.java_program import java_program

JUDGE = Path(__file__).parents[1] / "java" / "PlanJudge.java"


def test_plans_are_taken_and_refused_as_by_the_tool(tmp_path: Path) -> None:
    texts = {**TAKEN, **REFUSED}
    files = []
    for number, text in enumerate(texts.values()):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(text, encoding="utf-8")
    done = subprocess.run(
        java_program("4.3.1", JUDGE, *map(str, files)),
        check=True, capture_output=True, text=True, timeout=120, env=java.environment(),
    )  # fmt: skip
    taken = [line == "taken=1" for line in done.stdout.split()]
    assert dict(zip(texts, taken, strict=True)) == {name: name in TAKEN for name in texts}
