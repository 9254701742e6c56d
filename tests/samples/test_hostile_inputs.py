"""Inputs from others, damaged at random: none ends in "This is a bug in kafkactl".

These are a few of each kind, always the same ones; `tests/campaigns/fuzz/test_hostile_inputs.py` tries thousands.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.commands.framework.failure import describe
from kafkactl.core.errors import KafkactlError
from kafkactl.migration.zktree.znode import encode_znodes
from tests.campaigns.goldens.migrations import INTO as GOLDENS
from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.conftest import Run
from tests.fakes.talkers import HttpTalker, ZooKeeperTalker
from tests.hypothesis_profiles import examples
from tests.migration.render.files import cluster
from tests.migration.zk_trees import small, znodes
from tests.samples.damage import damaged
from tests.samples.hostile_inputs import MIGRATION, Feed, Kind, library_kinds, packed_znodes, rechained, resealed
from tests.sampling import one_in
from tests.storage.fleet.fleets import FleetBuilder

STATE = GOLDENS.with_name("states") / "M6.tar.gz"
CODES = range(10)
Kafkactl = Callable[..., Run]


@dataclass
class Place:
    """The folder with what commands need in addition to the hostile file."""

    folder: Path
    kafkactl: Kafkactl
    codes: list[int] = field(default_factory=list)

    def file(self, name: str, said: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(said)
        return path

    def run(self, *words: object) -> None:
        """Run a command line that may refuse, and that may not fail as a defect of kafkactl does."""
        run = self.kafkactl(*words, "-o", "json")
        self.codes.append(run.code)
        assert run.code in CODES, run.stderr
        assert "internal-error" not in run.stdout + run.stderr, run.stderr
        assert "Traceback" not in run.stderr, run.stderr


def plan(place: Place) -> Kind:
    made = FleetOnDisk(place.folder, FleetBuilder())
    place.kafkactl("storage", "plan", made.inventory, "--out", made.plan)
    sample = made.plan.read_bytes()

    def feed(said: bytes) -> None:
        made.plan.write_bytes(resealed(said))
        place.run("storage", "apply", made.plan, "--node", 1, "--dry-run")

    return Kind((sample,), feed)


def fleet(place: Place) -> Kind:
    made = FleetOnDisk(place.folder, FleetBuilder())
    sample = made.inventory.read_bytes()
    target = place.folder / "made.json"

    def feed(said: bytes) -> None:
        made.inventory.write_bytes(said)
        place.run("storage", "plan", made.inventory, "--out", target)
        target.unlink(missing_ok=True)

    return Kind((sample,), feed)


def _inventory(folder: Path) -> bytes:
    lines = ['[zookeeper]\nconnect = "zk1:2181/kafka"\n[hooks]\ntemplate = "manual"\ntimeout_s = 300\n']
    for number, node in enumerate(cluster()):
        (folder / f"{node.id}.properties").write_bytes(node.content)
        lines.append(
            f'[[nodes]]\nid = {node.id}\nrole = "{node.role}"\naddress = "h{number}:9092"\n'
            f'config = "/etc/kafka/server.properties"\ncopy = "{node.id}.properties"\n'
        )
    return "\n".join(lines).encode()


def inventory(place: Place) -> Kind:
    words = ("migrate", "render", "--dry-run", "--inventory")
    return Kind((_inventory(place.folder),), lambda said: place.run(*words, place.file("migration.toml", said)))


def manifest(place: Place) -> Kind:
    file, out = place.file("migration.toml", _inventory(place.folder)), place.folder / "out"
    place.kafkactl("migrate", "render", "--inventory", file, "--out", out)
    target = out / "manifest.json"
    sample = target.read_bytes()

    def feed(said: bytes) -> None:
        target.write_bytes(said)
        place.run("migrate", "render", "--inventory", file, "--out", out)

    return Kind((sample,), feed)


def _seen(place: Place) -> Path:
    with tarfile.open(STATE) as archive:
        archive.extractall(place.folder / "seen", filter="data")
    return next((place.folder / "seen").rglob("observation.json")).parent


def observation(place: Place) -> Kind:
    target = _seen(place) / "observation.json"

    def feed(said: bytes) -> None:
        target.write_bytes(said)
        for verb in ("status", "check"):
            place.run("migrate", verb, "--observation", target.parent)

    return Kind((target.read_bytes(),), feed)


def journal(place: Place) -> Kind:
    """Return the journal as `migrate status` shows it together with the observation."""
    folder = _seen(place)
    words = ("migrate", "status", "--observation", folder, "--journal")
    samples = (json.dumps(MIGRATION).encode(), rechained(json.dumps(MIGRATION).encode()))
    return Kind(samples, lambda said: place.run(*words, place.file("journal.jsonl", rechained(said))))


def saved_tree(place: Place) -> Kind:
    lines = tuple(json.dumps(json.loads(line)).encode() for line in _lines(small()))
    whole = b"\n".join(lines)

    def feed(said: bytes) -> None:
        text = whole.replace(lines[3], said) if said.startswith(b"{") else said
        place.run("dryrun", "zk-migration", place.file("zk.jsonl.gz", packed_znodes(text)))

    return Kind((whole, *lines), feed)


def _lines(tree: dict[str, bytes]) -> list[bytes]:
    import gzip

    return gzip.decompress(encode_znodes(znodes(tree, "/kafka"))).splitlines()


def znode_data(place: Place) -> Kind:
    tree = small()
    paths = [path for path, content in tree.items() if content]
    samples = tuple(tree[path] for path in paths)

    def feed(said: bytes) -> None:
        path = paths[sum(said) % len(paths)]
        content = encode_znodes(znodes(tree | {path: said}, "/kafka"))
        place.run("dryrun", "zk-migration", place.file("zk.jsonl.gz", content), "--records")

    return Kind(samples, feed)


def _log(place: Place) -> Path:
    write_log(place.folder / "log", Shape(records=300, partitions=30, brokers=3))
    return place.folder / "log" / "__cluster_metadata-0"


def after(place: Place) -> Kind:
    log = _log(place)
    earlier = place.kafkactl("dryrun", "broker-loss", log, "--brokers", 1, "-o", "json").stdout.encode()
    toml = (
        b'[[scenario]]\nname = "broker-loss"\nbrokers = [0]\n[[scenario]]\nname = "alter-config"\n'
        b'entity = "topic:topic-0000000"\nset = {"min.insync.replicas" = "1"}\n'
        b'[[scenario]]\nname = "reassignment"\nmoves = [{topic = "topic-0000000", partition = 0, replicas = [0]}]\n'
    )
    words = ("dryrun", "broker-loss", log, "--brokers", 2, "--after")
    name = {True: "after.json", False: "after.toml"}
    return Kind(
        (earlier, toml), lambda said: place.run(*words, place.file(name[said.lstrip()[:1] in (b"{", b"[")], said))
    )


def reassignment(place: Place) -> Kind:
    log = _log(place)
    moves = [{"topic": "topic-0000000", "partition": number, "replicas": [1, 0]} for number in range(2)]
    words = ("dryrun", "reassignment", log, "--plan")
    sample = json.dumps({"version": 1, "partitions": moves}).encode()
    return Kind((sample,), lambda said: place.run(*words, place.file("plan.json", said)))


def server_properties(place: Place) -> Kind:
    made = FleetOnDisk(place.folder, FleetBuilder())

    def feed(said: bytes) -> None:
        file = place.file("server.properties", said)
        place.run("storage", "verify", "-c", file)
        place.run("storage", "format", "-c", file, "-t", "q1Sh-9_ISia_zwGINzRvyQ", "--dry-run")

    return Kind((made.config(1).read_bytes(), made.config(4).read_bytes()), feed)


def files_of_a_disk(place: Place) -> Kind:
    meta = b"version=1\nnode.id=1\ncluster.id=q1Sh-9_ISia_zwGINzRvyQ\ndirectory.id=q1Sh-9_ISia_zwGINzRvyQ\n"
    state = (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}]}'
    )

    def feed(said: bytes) -> None:
        for name in ("meta.properties", "quorum-state", "partition.metadata"):
            place.run("storage", "dump", place.file(name, said))

    return Kind((meta, state), feed)


def bundle(place: Place) -> Kind:
    """Return the archive itself."""
    made = place.folder / "made.zip"
    place.kafkactl("bundle", "--out", made, "--log-dir", _log(place), "--include-log")

    def feed(said: bytes) -> None:
        file = place.file("a.zip", said)
        for words in (("log", "verify"), ("log", "image"), ("dryrun", "replay")):
            place.run(*words, "--bundle", file)

    return Kind((made.read_bytes(),), feed)


def bundled_answer(place: Place) -> Kind:
    """Return manifests and kept answers in an archive that is sound."""
    log, made = _log(place), place.folder / "made.zip"
    place.kafkactl("bundle", "--out", made, "--log-dir", log)
    with zipfile.ZipFile(made) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    names = ("manifest.json", "answers/log.verify.json", "answers/log.image-1.json", "answers/log.lint-1.json")

    def feed(said: bytes) -> None:
        for name in names:
            said_of = files | {name: said}
            if name != "manifest.json":
                document = json.loads(files["manifest.json"])
                for member in document["members"]:
                    data = said_of[member["path"]]
                    member |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                said_of["manifest.json"] = json.dumps(document).encode()
            with zipfile.ZipFile(place.folder / "a.zip", "w") as archive:
                for path, data in said_of.items():
                    archive.writestr(path, data)
            for verb in ("verify", "image", "lint"):
                place.run("log", verb, "--bundle", place.folder / "a.zip")

    return Kind(tuple(files[name] for name in names), feed)


OF_COMMANDS = {
    "plan": plan, "fleet": fleet, "inventory": inventory, "manifest": manifest, "observation": observation,
    "journal": journal,
    "saved tree": saved_tree, "znode": znode_data, "after": after, "reassignment": reassignment,
    "bundle": bundle, "answer in a bundle": bundled_answer,
    "server properties": server_properties, "files of a disk": files_of_a_disk,
}  # fmt: skip
OF_THE_LIBRARY = tuple(library_kinds(Path(), None, None))  # type: ignore[arg-type] # the names alone
KINDS = (*OF_THE_LIBRARY, *OF_COMMANDS)
# Whose sound samples are refusals themselves, or need a server that goes on.
_REFUSED = ("scram", "refusal of a token", "client properties", "zookeeper properties")
# How many of a few, and of many: inputs that take a socket or a command are tried less often.
_SLOW = {"scram": (15, 800), "zookeeper answers": (2, 100), "answer with a token": (10, 800)}
_FEW, _MANY, _COMMANDS = 20, 2_000, (4, 250)


@pytest.fixture
def kind(request: pytest.FixtureRequest, tmp_path: Path, kafkactl: Kafkactl) -> Iterator[Kind]:
    name = request.param
    with HttpTalker() as http, ZooKeeperTalker() as zookeeper:
        if name in OF_COMMANDS:
            place = Place(tmp_path, kafkactl)
            kind = OF_COMMANDS[name](place)
            kind.feed(kind.samples[0])
            assert set(place.codes) & {0, 7}, f"a sound sample is not read: {place.codes}"
            yield kind
        else:
            kind = library_kinds(tmp_path, http, zookeeper)[name]()  # type: ignore[arg-type] # they are what they enter as
            if name not in _REFUSED:
                kind.feed(kind.samples[0])
            yield kind


def try_inputs(kind: Kind, examples: int, *, at_random: bool) -> None:
    """Try sound samples first, then damaged ones."""
    for sample in kind.samples:
        fed(kind.feed, sample)

    @settings(
        max_examples=examples, deadline=None, derandomize=not at_random, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(damaged(kind.samples))
    def one(said: bytes) -> None:
        fed(kind.feed, said)

    one()


def fed(feed: Feed, said: bytes) -> None:
    try:
        feed(said)
    except KafkactlError as error:
        assert error.id != "internal-error"
        # As a command shows it. If the words around a password are damaged, no reader can know it.
        assert b'password="hunter2"' not in said or "hunter2" not in str(describe(error))


@pytest.mark.parametrize("kind", one_in(3, KINDS), indirect=True)
def test_damaged_input_is_an_answer_or_a_typed_error(kind: Kind, request: pytest.FixtureRequest) -> None:
    try_inputs(kind, examples(numbers(request)[0]), at_random=False)


def numbers(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Return how many examples of this kind: of the few, and of the many."""
    name = request.node.callspec.params["kind"]
    return _COMMANDS if name in OF_COMMANDS else _SLOW.get(name, (_FEW, _MANY))


def test_defect_would_be_seen() -> None:
    # A reader that fails as a defect does fails the test, too.
    def feed(said: bytes) -> None:
        json.loads(said)["a"].strip()

    with pytest.raises((TypeError, AttributeError, ValueError, KeyError, RecursionError)):
        try_inputs(Kind((b'{"a":"b"}',), feed), 50, at_random=False)


@pytest.mark.slow
def test_damage_is_of_all_kinds() -> None:
    seen: set[bytes] = set()

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(damaged((b'{"a": "b", "c": [1, 2]}',)))
    def one(said: bytes) -> None:
        seen.add(said)

    one()
    assert len(seen) > 40 and any(len(said) > 1_000 for said in seen)
    assert any(_is_json(said) for said in seen) and not all(_is_json(said) for said in seen)


def _is_json(said: bytes) -> bool:
    try:
        json.loads(said)
    except (ValueError, RecursionError):
        return False
    return True
