"""`make demo`: a fleet of six planned, formatted, verified, booted; the loss of a broker predicted; a mistake caught.

Everything happens below demo/ in this folder and on loopback; nothing keeps running. `--no-kafka` leaves out the parts
that need released Kafka, and so does a machine without Java or Maven.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

from scripts.demo_dryrun import ask_the_log, copy_log
from scripts.demo_fleet import BROKERS, CONTROLLERS, KAFKA, Fleet, write_fleet
from scripts.narration import ROOT, DemoError, in_a_line, kafkactl, quote, say, title

HOME = ROOT / "demo"
NODES = (*CONTROLLERS, *BROKERS)
TOPIC = "demo"
# Six nodes and one JVM for Kafka's tools.
os.environ.setdefault("KAFKACTL_LAB_NODES", "8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 0 if all went as promised."""
    parser = argparse.ArgumentParser(prog="make demo", description="The main job, end to end.")
    parser.add_argument("--no-kafka", action="store_true", help="leave out what needs released Kafka")
    wanted = parser.parse_args(arguments)
    started = monotonic()
    try:
        _demo(with_kafka=not wanted.no_kafka and _kafka_is_there())
    except DemoError as failure:
        print(f"\nerror: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    say(f"Done in {monotonic() - started:.0f} s. The files are in demo/; nothing is left running.")
    return 0


def _demo(*, with_kafka: bool) -> None:
    from tests.lab.harness.ports import free_ports

    fleet = write_fleet(HOME, free_ports(len(NODES)))
    _plan(fleet)
    _format_and_verify(fleet)
    if with_kafka:
        _boot(fleet)
        ask_the_log(fleet)
    else:
        title("3, 4  Left out: booting the fleet with released Kafka, and a dry run on its log")
    _mistake(fleet, with_kafka=with_kafka)


def _kafka_is_there() -> bool:
    """Whether released Kafka can be had; says what is missing if not."""
    from tests.lab.harness import java, maven
    from tests.lab.harness.errors import LabError

    try:
        java.java_home()
        say(f"Resolving released Kafka {KAFKA} with Maven, unless it is in the cache already ...")
        maven.jars(KAFKA)
    except LabError as trouble:
        say(f"No released Kafka to boot with: {trouble}.")
        say("What needs it is left out; everything else follows.")
        return False
    return True


def _plan(fleet: Fleet) -> None:
    title("1  One plan for the whole fleet")
    say(
        "Three controllers and three brokers, written down in demo/fleet.toml with a configuration file each. The plan "
        "holds every byte that will be written: ids, voters, times. Nothing is written yet."
    )
    kafkactl("storage", "plan", str(_short(fleet.folder / "fleet.toml")), "--out", str(_short(_plan_file(fleet))))


def _format_and_verify(fleet: Fleet) -> None:
    title("2  Apply it node by node, and prove it")
    say("Each host applies its own part. Here one of the six is shown in full, the others in a line each.")
    plan = str(_short(_plan_file(fleet)))
    for node_id in NODES:
        words = ["storage", "apply", plan, "--node", str(node_id), "--yes"]
        if node_id == NODES[0]:
            kafkactl(*words)
        else:
            in_a_line(f"{fleet.name(node_id)} formatted", words)
    say("Will each of them start on its disks? `verify` reads them back as a starting node would.")
    for node_id in NODES:
        words = ["storage", "verify", "-c", str(_short(fleet.config(node_id))), "--kafka-version", KAFKA]
        if node_id == NODES[0]:
            kafkactl(*words)
        else:
            in_a_line(f"{fleet.name(node_id)} will start", words)


def _boot(fleet: Fleet) -> None:
    title(f"3  Boot all six with released Kafka {KAFKA}")
    with _running(fleet), _tools() as tool:
        quorum = tool(
            "org.apache.kafka.tools.MetadataQuorumCommand",
            ["--bootstrap-controller", fleet.controllers, "describe", "--status"],
        )
        quote("kafka-metadata-quorum.sh describe --status", quorum)
        features = tool("org.apache.kafka.tools.FeatureCommand", ["--bootstrap-server", fleet.brokers, "describe"])
        quote(
            "kafka-features.sh describe", [line for line in features if "metadata.version" in line or "kraft" in line]
        )
        made = ["--create", "--topic", TOPIC, "--partitions", "3", "--replication-factor", "3"]
        tool("org.apache.kafka.tools.TopicCommand", ["--bootstrap-server", fleet.brokers, *made])
        described = _described(tool, fleet)
        quote(f"kafka-topics.sh --create --topic {TOPIC} …; --describe", described)
        records = ["--num-records", "1000", "--record-size", "100", "--throughput", "-1"]
        produced = tool(
            "org.apache.kafka.tools.ProducerPerformance",
            ["--topic", TOPIC, *records, "--bootstrap-server", fleet.brokers],
        )
        quote(f"kafka-producer-perf-test.sh --topic {TOPIC} --num-records 1000 …", produced[-1:])
        copy_log(fleet)
    say("The cluster answers, with the voters and the levels of the plan. All six are stopped again.")


def _described(tool: Callable[[str, list[str]], list[str]], fleet: Fleet) -> list[str]:
    """What kafka-topics.sh says of the topic: a broker may learn of it a moment after its creation."""
    words = ["--bootstrap-server", fleet.brokers, "--describe", "--topic", TOPIC]
    for _ in range(20):
        try:
            return tool("org.apache.kafka.tools.TopicCommand", words)
        except DemoError as trouble:
            if "does not exist" not in str(trouble):
                raise
            sleep(0.5)
    raise DemoError(f"the brokers do not know the topic {TOPIC} after 10 s")


@contextmanager
def _running(fleet: Fleet) -> Iterator[None]:
    from tests.lab.harness.errors import LabError
    from tests.lab.harness.node import KafkaNode

    started = monotonic()
    (HOME / "logs").mkdir()
    with ExitStack() as stack:
        nodes = [stack.enter_context(KafkaNode(KAFKA, fleet.config(node), HOME / "logs")) for node in NODES]
        try:
            for node in nodes:
                node.start()
            for node, node_id in zip(nodes, NODES, strict=True):
                node.wait_ready(timeout_s=90)
                print(
                    f"  {fleet.name(node_id)} answers on port {node.address[1]} after {monotonic() - started:.1f} s",
                    flush=True,
                )
            yield
        except LabError as trouble:
            raise DemoError(str(trouble)) from trouble
        for node in reversed(nodes):
            node.stop(grace_s=5)


@contextmanager
def _tools() -> Iterator[Callable[[str, list[str]], list[str]]]:
    """Kafka's own command-line tools, all in one JVM."""
    from tests.lab.harness.storage_tool import StorageToolServer

    with StorageToolServer() as server:

        def run(class_name: str, words: list[str]) -> list[str]:
            result = server.run_tool(KAFKA, class_name, words)
            if result.exit_code:
                raise DemoError(f"{class_name} ended with {result.exit_code}: {result.stdout}{result.stderr}")
            return result.stdout.strip().splitlines()

        yield run


def _mistake(fleet: Fleet, *, with_kafka: bool) -> None:
    title("5  A mistake that costs clusters: the disk that did not mount")
    say(
        "controller-1 was rebooted and its metadata disk did not come up: where votes and log were, there is an empty "
        "directory. An entry point that runs `format --ignore-formatted` before every start cannot tell."
    )
    node_id = CONTROLLERS[0]
    disk = fleet.disk(node_id, "metadata")
    shutil.move(disk, disk.with_name("metadata-not-mounted"))
    disk.mkdir()
    cluster_id = _cluster_id(fleet)
    words = ["format", "-t", cluster_id, "-c", str(_short(fleet.config(node_id))), "-g", "-N"]
    if with_kafka:
        with _tools() as tool:
            said = tool("kafka.tools.StorageTool", words)
            quote(f"kafka-storage.sh {' '.join(words)}", [line for line in said if line.startswith("Formatting")])
        say("Kafka's own tool formats it: a voter that forgets what it voted for. Undone; now with kafkactl:")
        shutil.rmtree(disk)
        disk.mkdir()
    kafkactl("storage", *words, "--kafka-version", KAFKA, expect=3)
    say("Refused, nothing written. The disk is mounted again, and all is well:")
    disk.rmdir()
    shutil.move(disk.with_name("metadata-not-mounted"), disk)
    kafkactl("storage", "verify", "-c", str(_short(fleet.config(node_id))), "--kafka-version", KAFKA)


def _cluster_id(fleet: Fleet) -> str:
    import json

    plan = json.loads(_plan_file(fleet).read_text(encoding="utf-8"))
    return str(plan["cluster_id"])


def _plan_file(fleet: Fleet) -> Path:
    return fleet.folder / "plan.json"


def _short(path: Path) -> Path:
    return path.relative_to(ROOT)


if __name__ == "__main__":
    sys.exit(main())
