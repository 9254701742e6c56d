"""Settings after a recovery: those of adopted topics, and retention that would delete what is on disk."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.frozen import changed
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, Topic
from kafkactl.quorum.recover.observed_disks import FolderKind, PartitionFolder
from kafkactl.quorum.recover.settings import TIERING, expiring
from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import AFTER, BEFORE, CLUSTER, LATE, ORDERS, PAY, disk, first_log

Cli = Callable[..., Run]
DAY_MS = 86_400_000
NOW_MS = 2_000_000_000_000
KEPT = {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "-1"}


def recovered(kafkactl: Cli, tmp_path: Path, shown: list[Path], *words: object, code: int = 0) -> dict:
    out = tmp_path / "out"
    disks = [word for path in shown for word in ("--log-dir", path)]
    run = kafkactl("quorum", "recover", "--out", out, *disks, *words, "--without-broker-disks", "-o", "json")
    assert run.code == code, run.stdout + run.stderr
    return run.json


def ids(answer: dict) -> dict[str, str]:
    return {finding["id"]: finding["severity"] for finding in answer["findings"]}


class TestAdoptedTopics:
    """A topic that only folders know has no settings, and Kafka's defaults would delete its data."""

    def test_nothing_is_deleted_until_they_are_set(self, kafkactl: Cli, tmp_path: Path):
        path = disk(tmp_path / "b11", 11)
        worlds.folder(path, LATE, 0)
        worlds.folder(path, "__consumer_offsets", 7, id=worlds.uuid(77))
        worlds.folder(path, ORDERS, 3)
        shown = [disk(tmp_path / "c1", 1, first_log(BEFORE)), path]
        answer = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--adopt", "--confirm", CLUSTER)
        given = {row["topic"]: row for row in answer["repairs"]["adopted_settings"]}
        assert sorted(given) == ["__consumer_offsets", "late"]  # the image has the settings of orders
        assert (given["late"]["settings"], given["late"]["known"]) == (KEPT, False)
        assert given["__consumer_offsets"]["settings"]["cleanup.policy"] == "compact"
        image = worlds.written_image(tmp_path / "out")
        assert image.configs[(TOPIC_CONFIG, "late")] == KEPT
        assert image.configs[(TOPIC_CONFIG, "__consumer_offsets")]["cleanup.policy"] == "compact"
        assert (TOPIC_CONFIG, "orders") not in image.configs
        (found,) = (finding for finding in answer["findings"] if finding["id"] == "adopted-settings-unknown")
        assert (found["severity"], found["evidence"]["topics"]) == ("warning", ["__consumer_offsets", "late"])

    def test_settings_of_a_disk_with_a_longer_log_are_used(self, kafkactl: Cli, tmp_path: Path):
        after = changed(AFTER, configs={(TOPIC_CONFIG, "late"): {"retention.ms": "99"}})
        path = disk(tmp_path / "b11", 11)
        worlds.folder(path, LATE, 0, timestamp_ms=NOW_MS * 2)
        better = disk(tmp_path / "b12", 12, first_log(after).noop().noop())
        lagging = disk(tmp_path / "c1", 1, first_log(BEFORE))
        words = ("--lost", "2,3", "--adopt", "--from", lagging, "--accept-loss", "--plan")
        answer = recovered(kafkactl, tmp_path, [lagging, path, better], *words, code=3)  # no --confirm-loss
        (given,) = answer["repairs"]["adopted_settings"]
        assert given == {"topic": "late", "settings": {"retention.ms": "99"}, "known": True}
        assert "adopted-settings-unknown" not in ids(answer)

    def test_recovery_without_an_adoption_has_no_adopted_settings(self, kafkactl: Cli, tmp_path: Path):
        shown = [disk(tmp_path / "c1", 1, first_log(BEFORE))]
        answer = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--plan")
        assert answer["repairs"]["adopted_settings"] == []
        assert "adopted-settings-unknown" not in ids(answer)


def tiered_folder(
    path: Path, topic: Topic, *, log_start: int | None = None, first_epoch: int = 0, oldest: int = 108
) -> None:
    """Make the folder of partition 0, whose oldest segment begins at `oldest`."""
    made = worlds.folder(path, topic, 0)
    (made / worlds.SEGMENT).rename(made / f"{oldest:020}.log")
    (made / "leader-epoch-checkpoint").write_text(f"0\n1\n0 {first_epoch}\n")
    starts = "0\n0\n" if log_start is None else f"0\n1\n{topic.name} 0 {log_start}\n"
    (path / "log-start-offset-checkpoint").write_text(starts)


class TestTieredTopics:
    """A topic whose log begins in tiered storage stays tiered, or its remote part is deleted later."""

    @pytest.fixture
    def shown(self, tmp_path: Path) -> list[Path]:
        path = disk(tmp_path / "b11", 11)
        worlds.folder(path, "__remote_log_metadata", 0, id=worlds.uuid(88))
        return [disk(tmp_path / "c1", 1, first_log(BEFORE)), path]

    def test_adopted_topic_keeps_tiered_storage(self, kafkactl: Cli, tmp_path: Path, shown: list[Path]):
        tiered_folder(shown[1], LATE)
        answer = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--adopt", "--confirm", CLUSTER)
        assert worlds.written_image(tmp_path / "out").configs[(TOPIC_CONFIG, "late")] == KEPT | TIERING
        assert answer["repairs"]["topics_tiered"] == []

    def test_topic_that_became_tiered_later_keeps_its_settings(self, kafkactl: Cli, tmp_path: Path, shown: list[Path]):
        tiered_folder(shown[1], PAY, log_start=0)
        answer = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--adopt", "--confirm", CLUSTER)
        assert answer["repairs"]["topics_tiered"] == ["pay"]
        assert ids(answer)["tiering-restored"] == "warning"
        assert worlds.written_image(tmp_path / "out").configs[(TOPIC_CONFIG, "pay")] == TIERING

    @pytest.mark.parametrize(
        ("log_start", "first_epoch"),
        [
            (108, 108),
            (0, 108),  # retention took the segments, and the broker was killed before it wrote where the log begins
            (108, 0),
            (None, 108),
        ],
    )
    def test_log_that_begins_here_is_not(
        self, kafkactl: Cli, tmp_path: Path, shown: list[Path], log_start: int | None, first_epoch: int
    ):
        tiered_folder(shown[1], PAY, log_start=log_start, first_epoch=first_epoch)
        answer = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--adopt", "--plan")
        assert answer["repairs"]["topics_tiered"] == []

    def test_no_topic_is_tiered_in_a_cluster_without_tiered_storage(self, kafkactl: Cli, tmp_path: Path):
        path = disk(tmp_path / "b11", 11)
        tiered_folder(path, PAY)
        answer = recovered(kafkactl, tmp_path, [disk(tmp_path / "c1", 1, first_log(BEFORE)), path],
                           "--lost", "2,3", "--plan")  # fmt: skip
        assert answer["repairs"]["topics_tiered"] == []

    @pytest.mark.parametrize("text", ["", "1\n0\n", "0\n5\nx", "0\n1\n0 zero\n"])
    def test_epochs_that_cannot_be_read_show_nothing(self, kafkactl: Cli, tmp_path: Path, shown: list[Path], text: str):
        tiered_folder(shown[1], PAY)
        (shown[1] / "pay-0" / "leader-epoch-checkpoint").write_text(text)
        answer = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--adopt", "--plan")
        assert answer["repairs"]["topics_tiered"] == []

    def test_topic_is_tiered_according_to_a_collected_copy(self, kafkactl: Cli, tmp_path: Path, shown: list[Path]):
        tiered_folder(shown[1], PAY)
        assert kafkactl("quorum", "recover", "collect", shown[1], "--to", tmp_path / "b11.tar").code == 0
        with tarfile.open(tmp_path / "b11.tar") as tar:
            tar.extractall(tmp_path / "copy", filter="data")
        answer = recovered(kafkactl, tmp_path, [shown[0], tmp_path / "copy"], "--lost", "2,3", "--adopt", "--plan")
        assert answer["repairs"]["topics_tiered"] == ["pay"]


class TestRetentionThatIsNotKnown:
    """Data that was older than Kafka's seven days while the cluster lived shows that something else was in force."""

    @pytest.mark.parametrize(
        ("age_days", "epoch", "found"),
        [
            (30, 0, "warning"),  # nothing shows that the image lacks anything
            (30, 4, "blocker"),  # a folder knows a leader epoch that the image does not
            (7, 4, None),  # a segment that retention would have deleted soon
            (1, 4, None),
        ],
    )
    def test_retention_is_judged_by_the_age_of_the_data(
        self, kafkactl: Cli, tmp_path: Path, age_days: int, epoch: int, found: str | None
    ):
        path = disk(tmp_path / "b11", 11)
        worlds.folder(path, PAY, 0, epoch=epoch, timestamp_ms=NOW_MS - age_days * DAY_MS)
        shown = [disk(tmp_path / "c1", 1, first_log(BEFORE, begun_ms=NOW_MS)), path]
        code = 3 if found == "blocker" else 0
        answer = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--plan", code=code)
        assert ids(answer).get("retention-not-known") == found
        if found == "blocker":
            again = recovered(kafkactl, tmp_path, shown, "--lost", "2,3", "--plan", "--accept-retention")
            assert ids(again)["retention-not-known"] == "warning"

    @pytest.mark.parametrize(
        "configs",
        [
            {(TOPIC_CONFIG, "pay"): {"retention.ms": "-1"}},
            {(TOPIC_CONFIG, "pay"): {"cleanup.policy": "compact"}},
            {(BROKER_CONFIG, ""): {"log.retention.ms": "-1"}},
            {(BROKER_CONFIG, "11"): {"log.cleanup.policy": "compact"}},
        ],
    )
    def test_setting_in_the_image_is_known(self, configs: dict):
        image = changed(BEFORE, configs=configs)
        assert expiring(image, [old_folder(NOW_MS - 90 * DAY_MS)], now_ms=NOW_MS, alive_ms=NOW_MS) == []

    @pytest.mark.parametrize("oldest_ms", [None, -1])
    def test_no_batch_and_no_timestamp_show_nothing(self, oldest_ms: int | None):
        assert expiring(BEFORE, [old_folder(oldest_ms)], now_ms=NOW_MS, alive_ms=NOW_MS) == []

    @pytest.mark.parametrize(("oldest_bytes", "expires"), [({}, False), ({"oldest_bytes": 4}, True)])
    def test_folder_without_segments_has_none_to_lose(self, oldest_bytes: dict[str, int], expires: bool):
        image = changed(BEFORE, configs={(TOPIC_CONFIG, "pay"): {"retention.bytes": "5"}})
        folder = PartitionFolder(
            disk="/d", broker=11, directory_id=None, name="pay-0", kind=FolderKind.LIVE, topic="pay", partition=0,
            topic_id=PAY.id, size_bytes=9, **oldest_bytes,
        )  # fmt: skip
        assert [held.setting for held in expiring(image, [folder], now_ms=NOW_MS)] == ["retention.bytes"] * expires

    def test_data_that_expired_before_the_last_life_sign_is_not_counted(self):
        folder = old_folder(NOW_MS - 30 * DAY_MS)
        assert expiring(BEFORE, [folder], now_ms=NOW_MS, alive_ms=NOW_MS - 29 * DAY_MS) == []
        (held,) = expiring(BEFORE, [folder], now_ms=NOW_MS, alive_ms=NOW_MS)
        assert (held.is_default, held.value) == (True, "604800000")


def old_folder(oldest_ms: int | None) -> PartitionFolder:
    return PartitionFolder(
        disk="/d", broker=11, directory_id=None, name="pay-0", kind=FolderKind.LIVE, topic="pay", partition=0,
        topic_id=PAY.id, oldest_timestamp_ms=oldest_ms, size_bytes=9, oldest_bytes=9,
    )  # fmt: skip
