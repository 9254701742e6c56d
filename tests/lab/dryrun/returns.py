"""Experiments about brokers that return together, and about brokers that are not registered.

In the manner of `dryrun_experiments`. Who leads after several brokers return is decided by milliseconds, so the same
return is repeated, in each order and with different pauses between the starts; each time what came about has to be one
of the outcomes that were predicted.
"""

from __future__ import annotations

import signal
import time

from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.prediction import Verdict
from tests.lab.dryrun.experiments import FEW, Experiment, back, elect, lose, reassign, start, stop
from tests.lab.dryrun.hazards import ids
from tests.lab.dryrun.stage import Stage

PAUSES_S = (0.0, 0.5, 1.0, 2.0, 4.0)
SHUTDOWN_S = 300  # KafkaRaftServer gives each of its parts five minutes


def return_together(*brokers: int, pause_s: float = 0.0) -> Experiment:
    """Start brokers that are down one after the other, without waiting for any of them."""

    def experiment(stage: Stage) -> object:
        def deed() -> None:
            for broker in brokers:
                stage.cluster.node(broker).start()
                time.sleep(pause_s)

        asked = {"brokers": list(brokers)}
        found = stage.experiment("broker-return", asked, deed, back(*brokers), exact=False)
        image = stage.world().loaded.image
        open_ = [change for change in found.changes if not change.certain]
        ends = []
        for partition in open_:
            topic = image.topic(partition.topic)
            assert topic is not None
            leaders = sorted({end.leader for end in partition.alternatives})
            ends.append(
                f"{partition.topic}-{partition.partition}: {topic.partitions[partition.partition].leader} of {leaders}"
            )
        print(f"{brokers} {pause_s} s apart, uncertain: {'; '.join(ends) or 'none'}", flush=True)
        return found

    return f"{', '.join(map(str, brokers))} return together, {pause_s} s apart", experiment


def dismiss(broker: int) -> Experiment:
    """Unregister a broker that is down, and start it again."""

    def experiment(stage: Stage) -> object:
        assert stage.ask("UnregisterBroker", {"BrokerId": broker})["ErrorCode"] == 0
        stage.settle(lambda image: broker not in image.brokers)
        found = do_start(stage)
        assert "unregistered-broker-returns" in ids(found)  # type: ignore[arg-type]
        return found

    _, do_start = start(broker)
    return f"{broker} is unregistered while it is down, and comes back", experiment


def hang(broker: int) -> Experiment:
    """Unregister a live broker and ask it to stop; then kill it, and let it come back."""

    def experiment(stage: Stage) -> object:
        assert stage.ask("UnregisterBroker", {"BrokerId": broker})["ErrorCode"] == 0
        world = stage.settle(lambda image: broker not in image.brokers)
        found = run("broker-loss", world, {"brokers": [broker], "mode": "controlled", "in_order": True})
        assert found.verdict is Verdict.WEDGED
        assert "controlled-shutdown-not-granted" in ids(found)
        node, begun = stage.cluster.node(broker), time.monotonic()
        node.running.send(signal.SIGTERM)
        while node.alive and time.monotonic() - begun < SHUTDOWN_S + 60:
            time.sleep(1)
        took = time.monotonic() - begun
        print(f"SIGTERM to the unregistered broker {broker}: alive {node.alive} after {took:.0f} s", flush=True)
        assert took > SHUTDOWN_S - 10, f"SIGTERM has ended it within {took:.0f} s"
        node.kill()
        do_start(stage)
        return found

    _, do_start = start(broker)
    return f"{broker} is unregistered while it lives, and asked to stop", experiment


FEW_RETURNS: tuple[Experiment, ...] = (
    *(
        act
        for pause in PAUSES_S
        for order in ((12, 13), (13, 12))
        for act in (lose(12, 13), return_together(*order, pause_s=pause), elect("preferred"))
    ),
    *(
        act
        for order in ((11, 12, 13), (13, 11, 12), (12, 13, 11))
        for act in (lose(11, 12, 13), return_together(*order, pause_s=0.5), elect("preferred"))
    ),
)
"""Each leaves a whole cluster."""

CLEAN_RETURNS: tuple[Experiment, ...] = tuple(
    act
    for order, pause in (((11, 12, 13), 0.0), ((13, 12, 11), 0.0), ((12, 13, 11), 1.0), ((13, 11, 12), 1.0))
    for act in (stop(12), stop(13), stop(11), return_together(*order, pause_s=pause), elect("preferred"))
)
"""With eligible leader replicas those that were shut down cleanly are still eligible: any of them may lead."""

SAMPLE: tuple[Experiment, ...] = (*FEW[:4], return_together(12, 13))
"""The representative: FEW, but 12 and 13 return together."""

RETURNS: tuple[Experiment, ...] = (
    *FEW_RETURNS,
    lose(13),
    dismiss(13),
    lose(12),
    reassign("two", 0, [11, 13, 12]),
    reassign("two", 0, [11, 12]),
    reassign("two", 0, None),
    start(12),
    hang(13),
)
"""On a cluster of their own, in this order."""
