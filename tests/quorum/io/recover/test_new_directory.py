"""The new directory of a recovery between the plan and the last file: what came there meanwhile stays."""

from __future__ import annotations

import os
from pathlib import Path

from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed
from kafkactl.quorum.api.recover.plan import apply_recovery
from tests.quorum.io.recover.test_apply_recovery_races import OTHER_UID, Watching, planned, root
from tests.quorum.recover import worlds

__all__ = ["root"]
LOG = "__cluster_metadata-0"


def leftovers(root: Path) -> Path:
    """Return a new directory as a run that was killed before meta.properties leaves it."""
    assert apply_recovery(planned(root)).outcome is Outcome.DONE
    (root / "srv" / "new" / "meta.properties").unlink()
    return root / "srv" / "new"


def test_another_empty_directory_at_the_place_of_the_planned_one_is_refused(root: Path) -> None:
    new = root / "srv" / "new"
    new.mkdir()
    plan = planned(root)
    (root / "srv" / "other").mkdir()
    new.rename(root / "srv" / "first")
    (root / "srv" / "other").rename(new)
    written = apply_recovery(plan)
    assert (written.outcome, written.findings[0].id) == (Outcome.REFUSED, "recovery-target-changed")
    assert list(new.iterdir()) == []


def test_directory_that_a_node_has_used_is_refused(root: Path) -> None:
    plan = planned(root)
    assert apply_recovery(plan).outcome is Outcome.DONE
    new = root / "srv" / "new"
    (new / "meta.properties").unlink()
    for name in ("quorum-state", "00000000000000000000.log"):
        (new / LOG / name).write_text("{}")
        if os.geteuid() == 0:
            os.chown(new / LOG / name, OTHER_UID, OTHER_UID)
        before = worlds.tree(root / "srv")
        again = planned(root)
        assert again.outcome is Outcome.REFUSED
        assert apply_recovery(changed(plan, look=again.look)).outcome is Outcome.REFUSED
        assert worlds.tree(root / "srv") == before
        (new / LOG / name).unlink()
    assert apply_recovery(planned(root)).outcome is Outcome.DONE


def test_leftover_is_looked_at_again_right_before_it_is_removed(root: Path) -> None:
    new = leftovers(root)
    held = worlds.tree(new / LOG)
    again = planned(root)

    def appear(_number: int, path: str) -> None:
        if path == str(new / LOG):
            (new / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=9\n")

    written = apply_recovery(again, Watching(appear))
    assert (written.outcome, written.findings[0].id) == (Outcome.REFUSED, "recovery-target-changed")
    assert worlds.tree(new / LOG) == held
