"""Scenes of the metadata topic, each on a cluster of its own: what harms it is done, then all brokers are restarted.

Three topics with replicas on two of the three brokers each, so that brokers read different metadata partitions. What
was forecast for each broker is compared with what it does after the restart, and with its log.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafkactl.core.frozen import changed
from kafkactl.core.values import Uuid
from kafkactl.tiered.api.verbs import audit, foresee, load, observe, save
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import read_config, write_config
from tests.lab.tiered.brokers import COUNT, METADATA_PARTITIONS
from tests.lab.tiered.looks import AGREE_S, Forecast, forecast_wrong
from tests.lab.tiered.outcome import Outcome
from tests.lab.tiered.stage import COPIED, COPYING, Hand, Scene, Stage, Steps

TOPIC = "__remote_log_metadata"
STOPPED = ("Exited from consumer task thread", "is not same as the expected partition count")
NODES = (1, 11, 12)
COMPRESSION = "rlmm.config.remote.log.metadata.producer.compression.type"
GROWN = 8
NEVER = (99,)
CHECKPOINTED = "log.flush.start.offset.checkpoint.interval.ms"
ODD = Uuid(b"an-odd-segment!!")


@dataclass(frozen=True, kw_only=True)
class Harm:
    """Damage to the metadata topic, by the hand of topic `a`, and the ids of all findings afterwards.

    `live` are those by the live cluster and its observation, where they differ: records below the log start are in
    files, and no broker sends them. With `is_gone` they are not in files either, and only brokers say that nothing is
    missing behind them: the forecast is theirs. From release `ends_since` on a broker that restarts shuts down.
    """

    name: str
    deed: Callable[[Hand], None]
    found: str
    live: str | None = None
    is_gone: bool = False
    ends_since: tuple[int, ...] = NEVER
    restart_with: int = METADATA_PARTITIONS
    settings: Mapping[str, str] = field(default_factory=dict)


def three_segments(hand: Hand) -> Steps:
    """Make three segments, and the local log after them."""
    hand.create()
    hand.produce(60)
    yield hand.copied(3)


def undecodable(hand: Hand) -> None:
    """Write a record of a kind that no release knows."""
    hand.cluster.chore("record", hand.home, "016300")


def complete_at_once(hand: Hand) -> None:
    """Write a base record that begins as COPY_SEGMENT_FINISHED."""
    hand.base(ODD, 54, 71, state=COPIED)


def started_again(hand: Hand) -> None:
    """Write an update to COPY_SEGMENT_STARTED of a segment in that state."""
    hand.base(ODD, 18, 35)
    hand.update(ODD, COPYING)


def partition_deleted(hand: Hand) -> None:
    """Write DELETE_PARTITION_FINISHED of a partition that lives."""
    hand.record("RemotePartitionDeleteMetadataRecord", RemotePartitionDeleteState=2)


def record_after_delete(hand: Hand) -> None:
    """Delete the partition, and write another record after that."""
    partition_deleted(hand)
    hand.base(ODD, 54, 71)


def head_cut(hand: Hand) -> None:
    """Delete records up to the base record of the second segment, until no replica forgets it by being killed.

    Brokers write down where their logs start once a minute, as CHECKPOINTED says; one that is killed before starts
    with all records again.
    """
    second = sorted(hand.segments(COPIED), key=lambda segment: segment.start_offset)[1]
    hand.cluster.chore("cut", TOPIC, second.first_offset, hand.home)
    line = f"{TOPIC} {hand.home} {second['first_offset']}"
    disks = hand.cluster.disks
    files = [disks.log_dir(broker) / "log-start-offset-checkpoint" for broker in sorted(disks.broker_ports)]
    hand.cluster.until(
        lambda: all(file.exists() and line in file.read_text("utf-8").splitlines() for file in files),
        "checkpoints of the metadata topic's log start",
    )


def head_expired(hand: Hand) -> None:
    """Time retention on the metadata topic, until no replica has a record in its files.

    Each replica deletes on its own, and some later than the leader: what stops in between has records below the log
    start in one folder and none in another.
    """
    cluster = hand.cluster
    cluster.chore("configure", TOPIC, "retention.ms=1000,file.delete.delay.ms=500")
    folders = [cluster.disks.log_dir(broker) for broker in sorted(cluster.disks.broker_ports)]
    cluster.until(
        lambda: not any(_size(file) for folder in folders for file in folder.glob(f"{TOPIC}-*/*.log")),
        "retention of the metadata topic",
    )
    cluster.chore("configure", TOPIC, "retention.ms=-1")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # deleted since it was listed
        return 0


def grown(hand: Hand) -> None:
    """Add metadata partitions that the brokers do not know."""
    hand.cluster.chore("grow", TOPIC, GROWN)


def nothing(hand: Hand) -> None:
    """Restart all brokers in turn, and do nothing else."""


HARMS: tuple[Harm, ...] = (
    Harm(name="all brokers restarted", deed=nothing, found=""),
    *(
        Harm(name=f"metadata topic compressed with {codec}", deed=nothing, found="", settings={COMPRESSION: codec})
        for codec in ("gzip", "snappy", "lz4", "zstd")
    ),
    Harm(name="a record that cannot be decoded", deed=undecodable, found="poison-record"),
    Harm(name="a base record of a complete segment", deed=complete_at_once, found="poison-record"),
    Harm(name="COPY_SEGMENT_STARTED again", deed=started_again, found="orphan-copy poison-record"),
    Harm(name="partition delete finished", deed=partition_deleted, found="gap partition-delete-record"),
    Harm(name="a record after it", deed=record_after_delete, found="gap partition-delete-record poison-record"),
    Harm(
        name="head removed by DeleteRecords", deed=head_cut, found="lost-with-metadata metadata-log-start-moved",
        live="gap metadata-log-start-moved unknown-object", settings={CHECKPOINTED: "500"},
    ),
    Harm(
        name="head removed by retention", deed=head_expired,
        found="metadata-log-start-moved metadata-view-incomplete no-remote-log-metadata-records",
        live="gap metadata-log-start-moved no-remote-log-metadata-records unknown-object", is_gone=True,
    ),
    Harm(name="metadata topic grown", deed=grown, found="metadata-partition-count-differs", ends_since=(4, 2)),
    Harm(
        name="metadata topic grown, brokers told", deed=grown, found="metadata-partition-count-differs",
        restart_with=GROWN,
    ),
)  # fmt: skip


def harmed(harm: Harm) -> Callable[[Stage], list[Outcome]]:
    """Return the act of a harm."""

    def act(stage: Stage) -> list[Outcome]:
        cluster = stage.cluster
        stage.run_scenes(
            Scene(name=name, steps=three_segments, replicas=replicas)
            for name, replicas in (("a", "11,12"), ("b", "12,1"), ("c", "1,11"))
        )
        first = stage.hands[0]
        stage.refresh()
        harm.deed(first)
        wrong = list(_settled(stage, harm))
        found = sorted({finding.id for finding in audit(load(cluster.request())).findings})
        shown = ", ".join(found) or "nothing"
        made = _forecasts(stage, harm)
        cluster.kill(11, 12, 1)
        cluster.reconfigure({COUNT: str(harm.restart_with)})
        if harm.ends_since <= cluster.number:
            wrong += _ends(stage, made)
            return [Outcome(harm.name, shown, "each broker shuts down after its start", "; ".join(wrong))]
        cluster.start()
        stage.wait_led(hand.topic for hand in stage.hands)
        for broker in NODES:
            stage.wait_in_sync(broker)
        for hand in stage.hands:
            hand.produce(40)
        leading = {topic: by_broker[stage.leaders().partitions[topic, 0].leader] for topic, by_broker in made.items()}
        wrong += [
            f"{topic}: {text}"
            for topic, text in forecast_wrong(stage, leading, stage.hands, has_bases=not harm.is_gone).items()
        ]
        wrong += _consumers(stage, made)
        offsets = stage.leaders().offsets([(hand.topic, 0) for hand in stage.hands])
        came = "; ".join(
            f"{topic}: {each.get('earliest')}, tiered to {each.get('latest_tiered', '?')}"
            f"{', nothing uploaded' if leading[topic].candidate['uploads'] == 'stopped' else ''}"
            for (topic, _), each in offsets.items()
        )
        failed = [f"{topic}: {text}" for topic, text in stage.failed.items()]
        return [Outcome(harm.name, shown, came, "; ".join([*failed, *wrong]))]

    return act


def _settled(stage: Stage, harm: Harm) -> Iterator[str]:
    """Check that the audit has the findings of the harm, by each source. Polls, for replicas and leaders take a
    moment."""
    cluster = stage.cluster
    by_disks, by_brokers = sorted(harm.found.split()), sorted((harm.found if harm.live is None else harm.live).split())
    expected = {"disks": by_disks, "live": by_brokers, "saved": by_brokers}
    seen: dict[str, list[str]] = {}

    def agree() -> bool:
        live = observe(stage.client)
        place = stage.save_folder("harm")
        save(load(cluster.request(sources=(), metadata=None, live=live)), place)
        for source, request in (
            ("disks", cluster.request()),
            ("live", cluster.request(sources=(), metadata=None, live=live)),
            ("saved", cluster.request(sources=(), metadata=None, observation=place, bucket=False)),
        ):
            seen[source] = sorted({finding.id for finding in audit(load(request)).findings} - IGNORED)
        return seen == expected

    with contextlib.suppress(LabError):  # what differs is reported below
        cluster.until(agree, "agreed", AGREE_S)
    for source, each in seen.items():
        if each != expected[source]:
            yield f"{source}: found {', '.join(each) or 'nothing'}, expected {', '.join(expected[source]) or 'nothing'}"


IGNORED = frozenset({"unreachable-object"})  # reports the same segments by their objects


def _forecasts(stage: Stage, harm: Harm) -> dict[str, dict[int, Forecast]]:
    """Return forecasts by topic and broker, with the number of metadata partitions that brokers restart with."""
    stage.refresh()
    request = stage.cluster.request(bucket=False, metadata_partitions=harm.restart_with)
    if harm.is_gone:
        request = changed(request, sources=(), metadata=None, live=observe(stage.client))
    found: dict[str, dict[int, Forecast]] = {}
    for each in foresee(load(request)).to_dict()["partitions"]:
        known = frozenset(segment.segment_id for segment in stage.segments.get(each["topic"], []))
        for candidate in each["candidates"]:
            broker = candidate["broker_id"]
            found.setdefault(each["topic"], {})[broker] = Forecast(broker, candidate, known)
    return found


def _consumers(stage: Stage, made: dict[str, dict[int, Forecast]]) -> Iterator[str]:
    """Yield which brokers lost their metadata consumer, by their logs, and which were forecast to."""
    forecast: dict[int, Any] = {}
    for by_broker in made.values():
        for broker, each in by_broker.items():
            forecast[broker] = each.candidate["consumer"] in ("stopped", "stops-at-restart")
    stopped = [broker for broker in NODES if forecast.get(broker)]
    for broker in stopped:
        stage.cluster.until(lambda broker=broker: _has_stopped(stage, broker), f"consumer of {broker} stopped")
    for broker in NODES:
        if broker not in stopped and _has_stopped(stage, broker):
            yield f"broker {broker} lost its metadata consumer, which was not forecast"


def _ends(stage: Stage, made: dict[str, dict[int, Forecast]]) -> Iterator[str]:
    """Check that every broker that starts shuts down because of its metadata consumer, as it was forecast.

    The one that is the controller, too, first; then it is given the number, because the others cannot start without it.
    """
    cluster, first, others = stage.cluster, NODES[0], NODES[1:]
    cluster.node(first).start()
    yield from _shut_down(stage, (first,))
    file = cluster.config_file(first)
    write_config(file, read_config(file) | {COUNT: str(GROWN)})
    cluster.start(first)
    for broker in others:
        cluster.node(broker).start()
    yield from _shut_down(stage, others)
    for topic, by_broker in made.items():
        for broker, each in by_broker.items():
            if (each.candidate["consumer"], each.candidate["uploads"]) != ("stops-at-restart", "stopped"):
                yield f"{topic}: of broker {broker} was forecast {each.candidate}"


def _shut_down(stage: Stage, brokers: Sequence[int]) -> Iterator[str]:
    """Stop the brokers, and yield what still serves; kill a process that waits for its remote log metadata to close."""

    def serving() -> list[int]:
        return [broker for broker in brokers if stage.cluster.node(broker).ready() or not _has_stopped(stage, broker)]

    with contextlib.suppress(LabError):  # those that serve are reported below
        stage.cluster.until(lambda: not serving(), f"{brokers} stopped")
    for broker in serving():
        yield f"broker {broker} serves"
    stage.cluster.kill(*brokers)


def _has_stopped(stage: Stage, broker: int) -> bool:
    text = stage.cluster.node(broker).log_text()
    return any(words in text for words in STOPPED)
