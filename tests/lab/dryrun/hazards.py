"""Experiments about what goes wrong apart from elections, in the manner of `dryrun_experiments`.

The worst set of K, brokers that return in the wrong order, a rolling restart, a live broker that is unregistered,
eligible leaders that a setting wipes out, configurations of removed topics and records of aborted transactions that
come back with a restart.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable
from math import comb

from kafkactl.core.values import Role
from kafkactl.dryrun.brokers.worst_loss import Harm
from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.appended_records import encoded, record
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Change, Outcome, Prediction, Verdict
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.metadata.image.model import TOPIC_CONFIG, Image
from kafkactl.protocol.record_batch import encode_batch
from tests.lab.dryrun.experiments import Experiment, back, configure, elect, fenced, lose, start, stop_by_term
from tests.lab.dryrun.report import report
from tests.lab.dryrun.stage import Holds, Stage

ZOMBIE_S, TERM_S = 10, 12
LEAKED, GHOSTS = "777777", "123456"  # values of retention.ms that were never set


def ids(found: Prediction) -> set[str]:
    return {finding.id for finding in found.findings}


def lose_worst(size: int) -> Experiment:
    """Lose the worst set that the controller's own node is not in; the reported harm is the worst of all orders."""

    def experiment(stage: Stage) -> object:
        before = stage.settle(lambda _: True)
        reported = run("broker-loss", before, {"worst": size}).effects
        assert reported["sets"] == comb(len(before.loaded.image.brokers), size)
        worst = next(loss for loss in reported["worst"] if 1 not in loss.brokers)
        lost = worst.brokers
        asked = {"brokers": lost, "mode": "crash"}
        found = stage.experiment("broker-loss", asked, lambda: stage.cluster.kill(*lost), fenced(*lost))
        seen = _harm_seen(before, stage.world().loaded.image)
        least, most = _harm_predicted(before, found, all), _harm_predicted(before, found, any)
        assert most == worst.harm, f"{worst} as one of many, {most} alone"
        assert all(low <= real <= high for low, real, high in zip(least, seen, most, strict=True)), (
            f"{lost}: {seen} seen, {least} to {most} predicted"
        )
        return found

    return f"the worst {size} are killed", experiment


def _harm_seen(before: ScenarioContext, real: Image) -> Harm:
    ends = {
        (topic.name, number): Outcome(partition.leader, partition.isr)
        for topic in real.topics.values()
        for number, partition in topic.partitions.items()
    }
    return _harm(before.loaded.image, before.facts, lambda name, number: (ends[name, number],), any)


def _harm_predicted(before: ScenarioContext, found: Prediction, quantifier: Callable[[Iterable[bool]], bool]) -> Harm:
    changes: dict[tuple[str, int], Change] = {(change.topic, change.partition): change for change in found.changes}

    def outcomes(name: str, number: int) -> tuple[Outcome, ...]:
        change = changes.get((name, number))
        return () if change is None else change.outcomes

    return _harm(before.loaded.image, before.facts, outcomes, quantifier)


def _harm(
    image: Image,
    facts: Facts,
    ends: Callable[[str, int], tuple[Outcome, ...]],
    quantifier: Callable[[Iterable[bool]], bool],
) -> Harm:
    """Return partitions that lose their leader, fall below min ISR with one, or change it; in any or in all of their
    ends."""
    controller = ActiveController(image, facts)
    offline = under = moved = 0
    for topic in image.topics.values():
        for number, partition in topic.partitions.items():
            found, least = ends(topic.name, number), min(controller.min_isr(topic), len(partition.replicas))
            if not found:
                continue
            offline += partition.leader >= 0 and quantifier(end.leader < 0 for end in found)
            is_under = quantifier(end.leader >= 0 and len(end.isr) < least for end in found)
            under += is_under and partition.leader >= 0 and len(partition.isr) >= least
            moved += quantifier(end.leader != partition.leader for end in found)
    return Harm(offline, under, moved)


def return_all(*order: int) -> Experiment:
    """Return those that are down to the cluster, one after the other; one prediction for them all."""

    def experiment(stage: Stage) -> object:
        before = stage.settle(lambda _: True)
        down = [broker for broker in order or before.loaded.image.brokers if before.loaded.image.brokers[broker].fenced]
        found = run("broker-return", before, {"brokers": down, "in_order": True})
        for broker in down:
            stage.cluster.node(broker).start()
            stage.settle(back(broker))
        stage.compare(found, before, exact=False)
        return found

    return f"{', '.join(map(str, order)) or 'all'} come back in this order", experiment


def returned_wrongly(*order: int) -> Experiment:
    """Do as `return_all`; the answer must say that records may be lost, though every ISR is whole in the end."""
    name, experiment = return_all(*order)

    def checked(stage: Stage) -> object:
        found = experiment(stage)
        assert isinstance(found, Prediction)
        assert "unclean-leader" in ids(found)
        return found

    return f"{name}, the last in sync last", checked


def return_empty(broker: int) -> Experiment:
    """Return a broker with an empty disk in place of the one that it had."""

    def experiment(stage: Stage) -> object:
        asked = {"brokers": [broker], "empty_disks": True}
        return stage.experiment(
            "broker-return", asked, lambda: stage.cluster.replace_disk(broker), unfenced(broker), exact=False
        )

    return f"{broker} comes back with an empty disk", experiment


def unfenced(broker: int) -> Holds:
    """Return True if it serves again, whatever became of its partitions."""
    return lambda image: broker in image.brokers and not image.brokers[broker].fenced


def roll(*order: int) -> Experiment:
    """Run a whole rolling restart from one prediction: how many partitions suffer while each is down, and the end."""

    def experiment(stage: Stage) -> object:
        before = stage.settle(lambda _: True)
        found = run("rolling-restart", before, {"order": list(order)})
        for step in found.effects["steps"]:
            stop_by_term(stage, step["broker"])
            world = stage.world()
            _, *seen = ActiveController(world.loaded.image, world.facts).tally()
            reported = [getattr(step["partitions"], name) for name in ("offline", "under_min_isr", "at_min_isr")]
            assert seen == reported, (
                f"{step['broker']} down: {seen} offline, under and at min ISR; predicted {reported}"
            )
            stage.cluster.node(step["broker"]).start()
            stage.settle(back(step["broker"]))
        stage.compare(found, before, exact=False)
        return found

    return f"a rolling restart of {', '.join(map(str, order))}", experiment


def make_zombie(broker: int) -> Experiment:
    """Unregister a live broker: it stays, it does not register again, and SIGTERM does not end it."""

    def experiment(stage: Stage) -> object:
        def deed() -> None:
            assert stage.ask("UnregisterBroker", {"BrokerId": broker})["ErrorCode"] == 0

        found = stage.experiment(
            "unregister-broker", {"broker": broker}, deed, lambda image: broker not in image.brokers
        )
        assert "broker-would-be-zombie" in ids(found)
        node = stage.cluster.node(broker)
        time.sleep(ZOMBIE_S)
        assert node.alive, "the process has ended by itself"
        assert broker not in stage.world().loaded.image.brokers, "it has registered again by itself"
        node.running.send(signal.SIGTERM)
        time.sleep(TERM_S)
        assert node.alive, f"SIGTERM has ended it within {TERM_S} s"
        node.kill()
        node.start()
        stage.settle(back(broker))
        return found

    return f"{broker} is unregistered while it lives", experiment


def strand(broker: int, entity: str) -> Experiment:
    """Touch min.insync.replicas while a broker is down: what is reported as stranded is so when it returns."""

    def experiment(stage: Stage) -> object:
        do_lose(stage)
        reported = do_configure(stage)
        assert isinstance(reported, Prediction)
        stranded = {(partition["topic"], partition["partition"]) for partition in reported.effects["stranded"]}
        assert bool(stranded) == stage.world().facts.rules.elections.elr
        found = do_start(stage)
        assert isinstance(found, Prediction)
        image = stage.world().loaded.image
        left = {
            (topic.name, number)
            for topic in image.topics.values()
            for number, partition in topic.partitions.items()
            if partition.leader < 0
        }
        assert left == stranded, f"{stranded} were to be stranded, {left} are"
        assert ("partition-stays-leaderless" in ids(found)) == bool(left)
        if left:
            elect("unclean", *(f"{name}:{number}" for name, number in sorted(left)))[1](stage)
        return reported

    (_, do_lose), (_, do_start) = lose(broker), start(broker)
    name, do_configure = configure(entity, "min.insync.replicas", "1")
    return f"{name} while {broker} is down, and {broker} back", experiment


def behead(stage: Stage) -> object:
    """Kill a majority of the controllers: the log does not advance, and not even the dead broker is fenced."""
    before = stage.settle(lambda _: True)
    found = run("broker-loss", before, {"brokers": [1], "mode": "crash"})
    assert found.verdict is Verdict.UNAVAILABLE and "quorum-loses-majority" in ids(found)
    stage.cluster.kill(1)
    time.sleep(3)
    end = stage.world(11).loaded.last_offset
    time.sleep(12)  # the session of its broker is over after 8 s
    world = stage.world(11)
    assert stage.cluster.leader_now() == -1, "somebody leads"
    assert world.loaded.last_offset == end, "the log has gone on"
    assert not world.loaded.image.brokers[1].fenced
    stage.cluster.start(1)
    stage.settle(back(*stage.cluster.broker_ids))
    stage.checked += 1
    return found


def retention_printed(stage: Stage, broker: int, topic: str) -> str | None:
    """Return retention.ms of a topic as one broker has it."""
    body = {
        "Resources": [{"ResourceType": TOPIC_CONFIG, "ResourceName": topic, "ConfigurationKeys": ["retention.ms"]}],
        "IncludeSynonyms": False,
        "IncludeDocumentation": False,
    }
    with stage.cluster.client(Role.BROKER) as client:
        (found,) = client.ask_node(stage.cluster.broker_address(broker), "DescribeConfigs", body).body["Results"]
    assert found["ErrorCode"] == 0, found
    value: str | None = next((config["Value"] for config in found["Configs"] if config["Name"] == "retention.ms"), None)
    return value


def haunt(broker: int) -> Experiment:
    """Make a topic with a configuration, and remove it; a broker that restarts gives the configuration to the next of
    that name."""

    def experiment(stage: Stage) -> object:
        stage.topics("--create", "--topic", "ghost", "--partitions", "1", "--config", f"retention.ms={GHOSTS}")
        stage.topics("--delete", "--topic", "ghost")
        stage.settle(lambda image: image.topic("ghost") is None)
        found = run("restart", stage.world(broker, restarts=True), {"node": broker})
        (orphans,) = (
            finding.evidence["resources"]
            for finding in found.findings
            if finding.id == "orphan-topic-configs-on-restart"
        )
        assert len(orphans) == 1 and "ghost" in orphans[0], orphans
        stage.cluster.kill(broker)
        stage.settle(fenced(broker))
        stage.cluster.start(broker)
        stage.settle(back(broker))
        stage.topics("--create", "--topic", "ghost", "--partitions", "1")
        stage.settle(lambda image: image.topic("ghost") is not None)
        reported = {
            broker_id: retention_printed(stage, broker_id, "ghost") == GHOSTS for broker_id in stage.cluster.broker_ids
        }
        assert reported == {broker_id: broker_id == broker for broker_id in stage.cluster.broker_ids}, (
            f"who has the dead one's: {reported}"
        )
        stage.checked += 1
        return found

    return f"a topic is removed and made again, {broker} restarted in between", experiment


def leak(stage: Stage) -> object:
    """Write an aborted transaction with a record behind it, as a controller that failed over leaves it; all are
    restarted."""
    world = stage.settle(lambda _: True)
    stage.cluster.kill(*stage.cluster.broker_ids)
    world = stage.world()
    segment = max(stage.cluster.disks.metadata_log(1).glob("*.log"))
    topic = next(name for name in ("three", "two") if world.loaded.image.topic(name))
    written = [
        record("BeginTransactionRecord", {}),
        record(
            "ConfigRecord",
            {"ResourceType": TOPIC_CONFIG, "ResourceName": topic, "Name": "retention.ms", "Value": LEAKED},
        ),
        record("AbortTransactionRecord", {}),
        record("NoOpRecord", {}),
    ]
    batch = encode_batch(
        [(None, encoded(record)) for record in written],
        base_offset=world.loaded.last_offset + 1,
        timestamp_ms=int(time.time() * 1_000),
        partition_leader_epoch=world.loaded.last_epoch,
    )
    with segment.open("ab") as file:
        file.write(batch)
    found = run("restart", stage.world(restarts=True), {})
    (phantoms,) = (
        finding.evidence["records"] for finding in found.findings if finding.id == "aborted-records-take-effect"
    )
    assert phantoms == 1
    assert any(topic in difference["key"] for difference in found.effects["differences"]), found.effects["differences"]
    stage.cluster.start()
    stage.settle(back(*stage.cluster.broker_ids))
    assert "retention.ms" not in stage.world().loaded.image.configs.get((TOPIC_CONFIG, topic), {})
    reported = {broker_id: retention_printed(stage, broker_id, topic) for broker_id in stage.cluster.broker_ids}
    assert set(reported.values()) == {LEAKED}, f"aborted was {LEAKED}, the brokers have {reported}"
    stage.checked += 1
    return found


HAZARDS: tuple[Experiment, ...] = (
    report("of a whole cluster"),
    lose_worst(2),
    return_all(),
    lose(12),
    lose(13),
    report("with 12 and 13 down"),
    returned_wrongly(12, 13),
    roll(11, 12, 13),
    lose(13),
    return_empty(13),
    lose(11),
    start(11),
    make_zombie(13),
    strand(13, "topic:one"),
    strand(12, "cluster"),
    ("the only controller, a broker too, is killed", behead),
    haunt(12),
    ("a transaction was aborted, all restarted", leak),
)
"""On a cluster of their own, in this order."""
