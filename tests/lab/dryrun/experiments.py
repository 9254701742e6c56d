"""The experiments of `dryrun_stage`, in an order in which each leaves what the next needs.

Each is a name and a function of the stage that predicts, does and compares; it raises AssertionError where the two
differ.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkactl.metadata.image.model import Image
from tests.lab.dryrun.stage import Holds, Stage

ALL = (11, 12, 13)
Experiment = tuple[str, Callable[[Stage], object]]


def fenced(*brokers: int) -> Holds:
    return lambda image: all(image.brokers[broker].fenced for broker in brokers)


def back(*brokers: int) -> Holds:
    def holds(image: Image) -> bool:
        states = [image.brokers.get(broker) for broker in brokers]
        if any(state is None or state.fenced or state.in_controlled_shutdown for state in states):
            return False
        live = {broker for broker in image.brokers if not image.brokers[broker].fenced}
        return all(
            live & set(partition.replicas) <= set(partition.isr)
            for topic in image.topics.values()
            for partition in topic.partitions.values()
            if partition.leader >= 0
        )

    return holds


def calm(_: Image) -> bool:
    return True


def lose(*brokers: int) -> Experiment:
    def experiment(stage: Stage) -> object:
        asked = {"brokers": list(brokers), "mode": "crash"}
        return stage.experiment("broker-loss", asked, lambda: stage.cluster.kill(*brokers), fenced(*brokers))

    return f"{', '.join(map(str, brokers))} killed", experiment


def down_permanently(stage: Stage, broker: int) -> Holds:
    """Return True if a broker that stops in order from now on has been fenced as often as its release does it."""
    again = 2 if stage.cluster.shape.release >= "4" else 1
    start = stage.world().loaded.last_offset

    def holds(image: Image) -> bool:
        written = [record for record in stage.written(start) if record.data.get("Fenced") == 1]
        return image.brokers[broker].fenced and len(written) >= again

    return holds


def stop_by_term(stage: Stage, broker: int) -> None:
    """Send SIGTERM, and wait for the last line of the log about the stop."""
    holds = down_permanently(stage, broker)
    stage.cluster.stop(broker)
    stage.settle(holds)


def stop(broker: int) -> Experiment:
    def experiment(stage: Stage) -> object:
        asked = {"brokers": [broker], "mode": "controlled", "in_order": True}
        holds = down_permanently(stage, broker)
        return stage.experiment("broker-loss", asked, lambda: stage.cluster.stop(broker), holds)

    return f"{broker} is stopped in order", experiment


def start(broker: int) -> Experiment:
    def experiment(stage: Stage) -> object:
        def deed() -> None:
            stage.cluster.node(broker).start()

        return stage.experiment("broker-return", {"brokers": [broker]}, deed, back(broker), exact=False)

    return f"{broker} comes back", experiment


def elect(kind: str, *topics: str) -> Experiment:
    def experiment(stage: Stage) -> object:
        wanted = [name.split(":") for name in topics]
        body = {
            "ElectionType": {"preferred": 0, "unclean": 1}[kind],
            "TopicPartitions": [{"Topic": topic, "Partitions": [int(number)]} for topic, number in wanted] or None,
            "TimeoutMs": 10_000,
        }
        answer: dict[str, object] = {}

        def deed() -> None:
            answer.update(stage.ask("ElectLeaders", body))

        found = stage.experiment("elect-leaders", {"type": kind, "topics": list(topics)}, deed, calm)
        response = {
            (topic["Topic"], partition["PartitionId"]): partition["ErrorCode"]
            for topic in answer["ReplicaElectionResults"]  # type: ignore[attr-defined]
            for partition in topic["PartitionResult"]
        }
        said = {(result["topic"], result["partition"]): result["error_code"] for result in found.effects["results"]}
        assert said == response, f"answered {response}, predicted {said}"
        return found

    return f"{kind} election of {', '.join(topics) or 'all'}", experiment


def configure(entity: str, key: str, value: str | None) -> Experiment:
    def experiment(stage: Stage) -> object:
        kind, _, name = entity.partition(":")
        body = {
            "Resources": [
                {
                    "ResourceType": 2 if kind == "topic" else 4,
                    "ResourceName": name,
                    "Configs": [{"Name": key, "ConfigOperation": 1 if value is None else 0, "Value": value}],
                }
            ],
            "ValidateOnly": False,
        }
        asked = {
            "entity": entity,
            "set": {} if value is None else {key: value},
            "delete": [key] if value is None else [],
        }
        answer: dict[str, object] = {}

        def deed() -> None:
            answer.update(stage.ask("IncrementalAlterConfigs", body))

        found = stage.experiment("alter-config", asked, deed, calm)
        response = answer["Responses"][0]  # type: ignore[index]
        error = found.effects.get("server_error")
        assert response["ErrorCode"] == (error.code if error else 0)
        assert not error or response["ErrorMessage"] == error.message, f"{response} is not {error}"
        return found

    return f"{entity}: {key}={value}", experiment


def reassign(topic: str, partition: int, replicas: list[int] | None) -> Experiment:
    def experiment(stage: Stage) -> object:
        part = {"PartitionIndex": partition, "Replicas": replicas}
        body = {"TimeoutMs": 10_000, "Topics": [{"Name": topic, "Partitions": [part]}]}
        asked = {"moves": [{"topic": topic, "partition": partition, "replicas": replicas}]}
        answer: dict[str, object] = {}

        def deed() -> None:
            answer.update(stage.ask("AlterPartitionReassignments", body))

        found = stage.experiment("reassignment", asked, deed, None, exact=False)
        response = answer["Responses"][0]["Partitions"][0]  # type: ignore[index]
        said = found.effects["results"][0]
        answered, predicted = (response["ErrorCode"], response["ErrorMessage"]), (said["error_code"], said["message"])
        assert answered == predicted, f"answered {answered}, predicted {predicted}"
        return found

    return f"{topic}-{partition} to {replicas}", experiment


def unregister(broker: int) -> Experiment:
    def experiment(stage: Stage) -> object:
        answer: dict[str, object] = {}

        def deed() -> None:
            answer.update(stage.ask("UnregisterBroker", {"BrokerId": broker}))

        found = stage.experiment(
            "unregister-broker", {"broker": broker}, deed, lambda image: broker not in image.brokers
        )
        error = found.effects.get("server_error")
        assert answer["ErrorCode"] == (error.code if error else 0)
        return found

    return f"{broker} is unregistered", experiment


FEW: tuple[Experiment, ...] = (lose(11), start(11), lose(12, 13), elect("preferred"), start(12), start(13))

MORE: tuple[Experiment, ...] = (
    elect("preferred"),
    stop(12),
    start(12),
    reassign("two", 0, [13, 12]),
    reassign("three", 0, [13, 12, 11]),
    reassign("two", 1, [77]),
    elect("preferred", "two:0", "three:0", "one:0"),
    lose(13),
    elect("preferred", "one:3", "two:0", "three:2"),
    elect("unclean", "one:3", "two:1", "three:0"),
    reassign("two", 1, [13, 11]),
    reassign("two", 3, [13, 12]),
    reassign("two", 3, None),
    reassign("three", 3, None),
    configure("topic:one", "min.insync.replicas", "1"),
    configure("cluster", "min.insync.replicas", "1"),
    configure("broker:11", "min.insync.replicas", "1"),
    start(13),
    elect("unclean", "one:3"),
    elect("preferred"),
    stop(11),
    lose(12),
    start(12),
    start(11),
    lose(11, 12, 13),
    unregister(13),
    unregister(13),
    start(11),
    start(12),
)
"""Behind FEW, and on the cluster that it leaves."""
