"""The scenes of `kafkactl demo`: what is said, which commands run, and with which exit code each has to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkactl.commands.demo.cluster import CONTROLLERS
from kafkactl.commands.demo.fleet import INVENTORY, PLAN, config_name, write_fleet
from kafkactl.commands.demo.stage import Stage
from kafkactl.core.frozen import frozen

_CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"
_KAFKA: Final = "4.3.1"
_REFUSED, _PROBLEMS = 3, 7
_CONFIG: Final = "controller-1.properties"
REPORT: Final = "report.html"


@frozen
class Scene:
    """A scene of the demo."""

    name: str
    title: str
    run: Callable[[Stage], None]


def _wedge(stage: Stage) -> None:
    cluster = stage.cluster
    leader, healthy, dead = cluster.controllers
    cluster.stop_controller(dead)
    connection = ("--bootstrap-controller", cluster.address)
    stage.say(f"Three controllers vote. Controller {dead} has just crashed. The other two are a majority and work.")
    stage.run("quorum", "describe", *connection)
    stage.say(
        f"Now the wrong voter is to be removed: {healthy}, which is healthy, instead of {dead}. Kafka does not check "
        "this. With `kafka-metadata-quorum.sh remove-controller` the leader would at once continue with the voters "
        f"{leader} and {dead}, of which only {leader} is alive: the removal can never commit, the leader resigns in "
        f"seconds, and no controller leads until {dead} is back with its disk."
    )
    stage.run("quorum", "remove-controller", *_voter(stage, healthy), *connection, expect=_REFUSED)
    stage.say("Refused, and no request was sent. Removing the dead voter is safe, as a dry run shows:")
    stage.run("quorum", "remove-controller", *_voter(stage, dead), *connection, "--dry-run")


def _voter(stage: Stage, controller: int) -> tuple[str, ...]:
    # A directory id can begin with a dash, which must not be read as an option.
    return ("-i", str(controller), f"--controller-directory-id={stage.cluster.directory_id(controller)}")


def _fleet(stage: Stage) -> None:
    write_fleet(
        stage.folder, _KAFKA, lambda node: f"node-{node}.example", lambda node: 9093 if node in CONTROLLERS else 9092
    )
    stage.say(
        "A new cluster: three controllers and three brokers, listed in one inventory file. `storage plan` checks all "
        "configurations against each other and writes down every id. Nothing is formatted yet."
    )
    stage.run("storage", "plan", INVENTORY, "--out", PLAN)
    stage.say("The plan can be reviewed. Then each host applies its own part; here is the host of node 1:")
    stage.run("storage", "apply", PLAN, "--host", "node-1.example", "--yes")
    stage.say("Will node 1 start from this disk? `storage verify` reads the disk as a starting node would:")
    stage.run("storage", "verify", "-c", config_name(1), "--kafka-version", _KAFKA)


def _mount(stage: Stage) -> None:
    disks = stage.folder / "disks"
    metadata, unmounted = disks / "metadata", disks / "metadata-not-mounted"
    for disk in (metadata, disks / "data"):
        disk.mkdir(parents=True)
    (stage.folder / _CONFIG).write_text(_properties(disks), encoding="utf-8")
    ensure = ("storage", "ensure", "-t", _CLUSTER_ID, "-c", _CONFIG, "--standalone", "--kafka-version", _KAFKA)
    stage.say(
        "A controller has two disks, one of them for the metadata log. `storage ensure` is for entry points: it runs "
        "before every start, and formats a node that was never formatted."
    )
    stage.run(*ensure)
    metadata.rename(unmounted)
    metadata.mkdir()
    stage.say(
        "The host was restarted, and the metadata disk did not mount: its directory is empty. "
        "`kafka-storage.sh format --ignore-formatted` would format that directory, and the node would start as a "
        "voter that has forgotten its log and its votes."
    )
    stage.run(*ensure, expect=_REFUSED)
    metadata.rmdir()
    unmounted.rename(metadata)
    stage.say("Refused, and nothing was written. The disk is mounted again, and there is nothing to do:")
    stage.run(*ensure)


def _properties(disks: Path) -> str:
    return f"""process.roles=controller
node.id=1
controller.quorum.bootstrap.servers=controller-1.example:9093
controller.listener.names=CONTROLLER
listeners=CONTROLLER://controller-1.example:9093
metadata.log.dir={disks / "metadata"}
log.dirs={disks / "data"}
"""


def _dryrun(stage: Stage) -> None:
    source = ("--from-cluster", "--bootstrap-controller", stage.cluster.address)
    stage.say(
        "The cluster has three brokers, 4 to 6, and three topics: orders with three replicas, sessions with two, audit "
        "with one. What happens if broker 4 crashes? The metadata log is fetched from the leader and replayed by "
        "Kafka's rules; nothing is changed."
    )
    stage.run("dryrun", "broker-loss", "--brokers", "4", *source, expect=_PROBLEMS)
    stage.say(
        "The exit code 7 says that the prediction has problems: the topic audit has no second replica. "
        "`dryrun rolling-restart` finds the safest order to restart all brokers in the same way."
    )


def _report(stage: Stage) -> None:
    target = stage.report or REPORT
    stage.say("Every prediction that needs no argument, in one HTML page with pictures, for a browser:")
    source = ("--from-cluster", "--bootstrap-controller", stage.cluster.address)
    stage.run("dryrun", "report", *source, "--html", target, expect=_PROBLEMS)
    if stage.report is None:
        page = (stage.folder / REPORT).as_uri()
        stage.say(f"The page is {page} as long as the demo runs; `--out FILE` writes a page that stays.")


SCENES: Final = {
    scene.name: scene
    for scene in (
        Scene(name="wedge", title="A change of voters that would stop the quorum is refused", run=_wedge),
        Scene(name="fleet", title="A fleet is planned, formatted and verified", run=_fleet),
        Scene(name="mount", title="A disk that is not mounted is not formatted", run=_mount),
        Scene(name="dryrun", title="The loss of a broker is predicted", run=_dryrun),
        Scene(name="report", title="All predictions become an HTML report", run=_report),
    )
}
