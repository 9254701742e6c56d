"""`recover collect` and `recover verify`: a copy is as good as the directory, and what differs is found."""

from __future__ import annotations

import errno
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kafkactl.core.frozen import changed
from kafkactl.metadata.image.model import Image, Partitions
from kafkactl.quorum.io.recover import collect, partitions
from kafkactl.quorum.recover.answer import KeptPlan
from kafkactl.quorum.recover.leaderless_partitions import without_in_sync_disk, without_leader
from kafkactl.quorum.recover.verify import LiveSeen, check_live
from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import AFTER, CLUSTER, DIRECTORY, broker_disks, disk, lagging_log, whole_log

Cli = Callable[..., Run]


def recovered(kafkactl: Cli, root: Path) -> Path:
    """Return a recovery that was written; its plan file."""
    disks = [disk(root / "c2", 2, whole_log()), *broker_disks(root, log=whole_log())]
    shown = [word for path in disks for word in ("--log-dir", path)]
    assert kafkactl("quorum", "recover", *shown, "--lost", "1,3", "--out", root / "new", "--confirm", CLUSTER).code == 0
    return root / "new.recovery.json"


def verified(kafkactl: Cli, plan: Path, *words: object) -> tuple[int, dict]:
    run = kafkactl("quorum", "recover", "verify", plan, *words, "-o", "json")
    return run.code, run.json


def test_directory_as_planned_is_verified(kafkactl: Cli, tmp_path: Path):
    plan = recovered(kafkactl, tmp_path)
    code, answer = verified(kafkactl, plan, "--log-dir", tmp_path / "b11")
    assert (code, answer["checked"], answer["findings"]) == (0, ["directory", "folders"], [])
    assert "As planned" in kafkactl("quorum", "recover", "verify", plan).stdout


@pytest.mark.parametrize("name", ["checkpoint", "meta.properties"])
def test_changed_directory_is_reported(kafkactl: Cli, tmp_path: Path, name: str):
    plan = recovered(kafkactl, tmp_path)
    (file,) = (path for path in (tmp_path / "new").rglob("*") if path.name.endswith(name))
    file.write_bytes(file.read_bytes().replace(b"node.id=2", b"node.id=3") + b"\n")
    code, answer = verified(kafkactl, plan)
    assert (code, {finding["id"] for finding in answer["findings"]}) == (7, {"recovery-differs"})


def test_directory_on_another_host_is_reported(kafkactl: Cli, tmp_path: Path):
    plan = recovered(kafkactl, tmp_path)
    (tmp_path / "new").rename(tmp_path / "elsewhere")
    code, answer = verified(kafkactl, plan)
    assert (code, [finding["id"] for finding in answer["findings"]]) == (6, ["recovery-directory-not-here"])


def test_renamed_folders_are_reported(kafkactl: Cli, tmp_path: Path):
    plan = recovered(kafkactl, tmp_path)
    worlds.folder(tmp_path / "b11", worlds.GONE, 0, suffix="stray")
    code, answer = verified(kafkactl, plan, "--log-dir", tmp_path / "b11")
    assert (code, [finding["id"] for finding in answer["findings"]]) == (7, ["partition-folders-renamed"])


def test_other_file_is_refused_as_a_recovery_plan(kafkactl: Cli, tmp_path: Path):
    (tmp_path / "x.json").write_text("[]")
    run = kafkactl("quorum", "recover", "verify", tmp_path / "x.json", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "not-a-recovery-plan")


KEPT = KeptPlan(
    cluster_id=CLUSTER, node_id=2, directory_id=worlds.uuid(1), directory="/x", is_dynamic=True, offset=1, epoch=100,
    files=(), image_sha256="", planned_at_ms=1, plan_sha256="",
)  # fmt: skip


def live(**changes: object) -> list[tuple[str, str]]:
    seen = LiveSeen(cluster_id=CLUSTER, leader_id=2, leader_epoch=101, voters=(2,), image=AFTER)
    return [(finding.id, finding.severity.value) for finding in check_live(KEPT, changed(seen, **changes))]


def fenced(*ids: int) -> Image:
    brokers = {id: changed(broker, fenced=id in ids) for id, broker in AFTER.brokers.items()}
    return changed(AFTER, brokers=brokers)


def test_running_cluster_is_compared_with_the_recovery():
    assert live() == []
    assert live(voters=(1, 2, 3), leader_id=3) == []  # grown back
    assert live(cluster_id="other") == [("cluster-id-mismatch", "blocker")]
    assert live(leader_id=1) == [("recovered-controller-not-leading", "blocker")]
    assert live(leader_epoch=100) == [("recovered-epoch-too-low", "blocker")]
    assert live(voters=(1, 3), leader_id=1) == [("recovered-controller-not-voter", "blocker")]
    some_fenced = [("brokers-still-fenced", "warning"), ("partitions-without-leader", "warning")]
    assert live(image=fenced(11, 12)) == some_fenced
    lost = worlds.image(worlds.topic("a", 1, 2, brokers=(13, 11)))
    assert live(image=changed(lost)) == [("partitions-without-leader", "blocker")]


def test_partitions_stranded_on_lost_brokers_are_reported():
    # As Kafka answered with broker 12 gone: an unclean election for `both`, none for `single` before it is moved.
    both, single = worlds.topic("both", 1, 2, brokers=(12, 11)), worlds.topic("single", 2, 1, brokers=(12,))
    image = changed(worlds.image(both, single), brokers=fenced(12).brokers)
    left = without_leader(image)
    assert (left.electable, left.bare) == (("both-0", "both-1"), ("single-0",))
    seen = LiveSeen(cluster_id=CLUSTER, leader_id=2, leader_epoch=101, voters=(2,), image=image)
    (said,) = [found for found in check_live(KEPT, seen) if found.id == "partitions-without-leader"]
    assert said.message.startswith("3 partitions have no leader")
    assert "unclean` makes the copy that is left the truth (both-0, both-1" in said.next_step
    assert "No copy is left of single-0: reassign" in said.next_step
    alone = without_leader(changed(worlds.image(single), brokers=image.brokers))
    assert (alone.count_text, "the truth" in alone.next_step) == ("1 partition has", False)


def test_partition_without_an_in_sync_disk_is_listed():
    both, single = worlds.topic("both", 1, 2, brokers=(12, 11)), worlds.topic("single", 2, 1, brokers=(12,))
    image = worlds.image(both, single)
    assert without_in_sync_disk(image, {}).names == []
    gone = without_in_sync_disk(image, {12: [DIRECTORY[12]]})
    assert (gone.electable, gone.bare) == ((), ("single-0",))  # 11 is in sync
    assert without_in_sync_disk(image, {12: []}).names == []  # its one directory is shown
    states = {number: (state[0], (12,), *state[2:]) for number, state in both.partitions.states.items()}
    behind = worlds.image(changed(both, partitions=Partitions(states)), single)
    gone = without_in_sync_disk(behind, {12: [DIRECTORY[12]]})
    assert (gone.electable, gone.bare) == (("both-0", "both-1"), ("single-0",))


def unpacked(kafkactl: Cli, source: Path, to: Path) -> Path:
    tar = to.with_suffix(".tar")
    run = kafkactl("quorum", "recover", "collect", source, "--to", tar, "-o", "json")
    assert run.code == 0, run.stderr
    assert tar.stat().st_mode & 0o777 == 0o600
    with tarfile.open(tar) as opened:
        opened.extractall(to, filter="data")
    return to


def test_copies_give_the_same_plan(kafkactl: Cli, tmp_path: Path):
    disks = [disk(tmp_path / "c1", 1, lagging_log()), *broker_disks(tmp_path)]
    worlds.static_state(disks[0], 3)
    copies = [unpacked(kafkactl, path, tmp_path / f"copy-{path.name}") for path in disks]
    answers = []
    for paths in (disks, copies):
        shown = [word for path in paths for word in ("--log-dir", path)]
        run = kafkactl("quorum", "recover", *shown, "--lost", "2,3", "--adopt", "--out", tmp_path / "n", "--plan",
                       "-o", "json")  # fmt: skip
        summary = {name: run.json[name] for name in ("outcome", "losses", "repairs", "voters_before", "source")}
        text = json.dumps(summary)
        for path in paths:
            text = text.replace(str(path), path.name.removeprefix("copy-"))
        answers.append(text)
    assert answers[0] == answers[1]
    assert "late-1" not in {path.name for path in (tmp_path / "copy-b11" / "late-1").iterdir()}
    assert not list((tmp_path / "copy-b11").glob("late-1/*.log"))


def test_copy_that_was_moved_away_is_not_written_to(kafkactl: Cli, tmp_path: Path):
    # A run that was killed may leave a second name of the copy that it had made.
    made = disk(tmp_path / "c1", 1, lagging_log())
    assert kafkactl("quorum", "recover", "collect", made, "--to", tmp_path / "x.tar").code == 0
    content = (tmp_path / "x.tar").read_bytes()
    (tmp_path / ".x.tar.tmp").hardlink_to(tmp_path / "x.tar")
    (tmp_path / "x.tar").rename(tmp_path / "safe.tar")
    (made / "meta.properties").unlink()
    assert kafkactl("quorum", "recover", "collect", made, "--to", tmp_path / "x.tar").code == 0
    assert (tmp_path / "safe.tar").read_bytes() == content
    assert (tmp_path / "x.tar").read_bytes() != content


@pytest.mark.parametrize("module", [collect, partitions])
def test_file_that_this_user_may_not_read_is_named_and_nothing_is_copied(
    kafkactl: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType
):
    (made, *_) = broker_disks(tmp_path)
    (refused, *_) = sorted(
        path for path in made.glob("*-0/*") if path.suffix == (".log" if module is partitions else "")
    )

    def opened(path, original=module.open_regular, *, follow=True, at=None):
        folder = "" if at is None else os.readlink(f"/proc/self/fd/{at}")  # noqa: PTH115
        if Path(folder, path) == refused:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path, follow=follow, at=at)

    monkeypatch.setattr(module, "open_regular", opened)
    run = kafkactl("quorum", "recover", "collect", made, "--to", tmp_path / "x.tar", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "log-dir-unreadable")
    assert run.error["message"] == f"{refused} cannot be read: Permission denied"
    assert not [path.name for path in tmp_path.iterdir() if "x.tar" in path.name]


def test_copy_is_never_replaced(kafkactl: Cli, tmp_path: Path):
    made = disk(tmp_path / "c1", 1, lagging_log())
    (tmp_path / "x.tar").write_text("the only one")
    run = kafkactl("quorum", "recover", "collect", made, "--to", tmp_path / "x.tar", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "collected-file-exists")
    assert (tmp_path / "x.tar").read_text() == "the only one"
    missing = kafkactl("quorum", "recover", "collect", tmp_path / "none", "--to", tmp_path / "y.tar", "-o", "json")
    assert (missing.code, missing.error["id"]) == (2, "log-dir-unreadable")
    for inside, step in ((made / "__cluster_metadata-0", f"it is in: {made}."), (tmp_path, "metadata.log.dir")):
        empty = kafkactl("quorum", "recover", "collect", inside, "--to", tmp_path / "y.tar", "-o", "json")
        assert (empty.code, empty.error["id"]) == (2, "log-dir-unreadable")
        assert step in empty.error["next_step"]
    no_room = kafkactl("quorum", "recover", "collect", made, "--to", tmp_path / "no" / "y.tar", "-o", "json")
    assert (no_room.code, no_room.error["id"]) == (1, "copy-not-written")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c1", "x.tar"]
