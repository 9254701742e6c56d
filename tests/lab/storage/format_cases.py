"""Generated cases of `format`: arguments, configuration and disks, on which Kafka's tool and ours are compared.

A case is made from a seed and nothing else. Paths in it begin with `{root}`, for each tool gets disks of its own.
What is random in it is chosen so that everything on the disks can be compared: ids are given where they may be, salts
always. `difference` names what we refuse on purpose although Kafka accepts it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.harness.releases import VERSIONS

CLUSTER = "XgM8cvG1S-mQ3k4wGhkVpQ"
OTHER_CLUSTER = "8cvG1SXgM-mQ3k4wGhkVpQ"
VOTER_IDS = ("JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A", "2ZCpvVVnTNmz3FYCTLPTcw")
RESERVED_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
SALT = "N3E="

Number = tuple[int, ...]

Disk = Callable[[Path], None]

# metadata.versions with which each release's tool is asked: all of these by name or by release.
RELEASE_TEXTS = (
    "3.3", "3.3-IV0", "3.3-IV3", "3.4", "3.5-IV1", "3.5", "3.6-IV2", "3.7", "3.7-IV1", "3.7.2", "3.8", "3.9", "3.9-IV0",
    "4.0", "4.0-IV1", "4.1", "4.2-IV0", "4.2.1", "4.3", "4.4", "4.4-IV0", "4.5-IV0", "3.0", "9.9", "x",
)  # fmt: skip
FEATURES = (
    "metadata.version=14", "metadata.version=20", "metadata.version=21", "metadata.version=25", "metadata.version=30",
    "metadata.version=3", "metadata.version=99", "kraft.version=0", "kraft.version=1", "group.version=0",
    "group.version=1", "transaction.version=0", "transaction.version=2", "eligible.leader.replicas.version=1",
    "share.version=1", "share.version=2", "streams.version=1", "streams.version=9", "foo.version=1", "bad", "x=y",
)  # fmt: skip
SCRAM = (
    f'SCRAM-SHA-256=[name=alice,password=alice-secret,salt="{SALT}",iterations=4096]',
    f'SCRAM-SHA-512=[name="bob",password=b=c,salt={SALT},iterations=8192]',
    f"SCRAM-SHA-256=[name=carol,password=x,salt={SALT}]",
    "SCRAM-SHA-1=[name=x,password=y]",
    "SCRAM-SHA-256=[password=y]",
    f"SCRAM-SHA-256=[name=d,password=x,salt={SALT},iterations=12]",
)


@dataclass
class Case:
    """Case. `disks` prepare a log directory, by its name below `{root}`."""

    seed: int
    release: str
    config: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    disks: dict[str, list[Disk]] = field(default_factory=dict)
    differences: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    metadata: str = ""

    @property
    def number(self) -> Number:
        return tuple(int(part) for part in self.release.split("."))


def make_case(seed: int) -> Case:
    """Return the case of a seed."""
    rng = random.Random(seed)
    case = Case(seed=seed, release=VERSIONS[seed % len(VERSIONS)])
    _configure(case, rng)
    _ask_for_cluster(case, rng)
    _ask_for_voters(case, rng)
    _ask_for_levels(case, rng)
    _prepare_disks(case, rng)
    return case


def chance(rng: random.Random, percent: int) -> bool:
    """Return True in so many cases of a hundred."""
    return rng.randrange(100) < percent


def _configure(case: Case, rng: random.Random) -> None:
    roles = rng.choice(("controller", "broker", "broker,controller", "broker,controller"))
    case.names = [f"d{number}" for number in range(rng.choice((1, 1, 2, 3)))]
    separate = rng.choice(("no", "no", "own", "second"))
    case.metadata = case.names[0]
    config = {
        "process.roles": roles,
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": _listeners(roles, rng),
        "log.dirs": ",".join(f"{{root}}/{name}" for name in case.names),
    }
    if separate == "own":
        case.names.append("meta")
        case.metadata = "meta"
    elif separate == "second" and len(case.names) > 1:
        case.metadata = case.names[1]
    if case.metadata != case.names[0]:
        config["metadata.log.dir"] = f"{{root}}/{case.metadata}"
    _configure_quorum(case, config, roles, rng)
    _configure_levels(case, config, rng)
    case.config = config


def _listeners(roles: str, rng: random.Random) -> str:
    controller = f"CONTROLLER://{rng.choice(('127.0.0.1', 'localhost', '', 'c1.example.com'))}:9093"
    plain = "PLAINTEXT://127.0.0.1:9092"
    return ",".join([plain] * ("broker" in roles) + [controller] * ("controller" in roles))


def _configure_quorum(case: Case, config: dict[str, str], roles: str, rng: random.Random) -> None:
    dynamic = case.number >= (3, 9) and chance(rng, 65)
    if dynamic:
        config["controller.quorum.bootstrap.servers"] = "127.0.0.1:9093"
    else:
        voters = "1@127.0.0.1:9093" if "controller" in roles else "2@127.0.0.1:9093"
        config["controller.quorum.voters"] = voters + rng.choice(("", ",3@127.0.0.1:9094"))


def _configure_levels(case: Case, config: dict[str, str], rng: random.Random) -> None:
    if chance(rng, 10):
        config[rng.choice(("unstable.metadata.versions.enable", "unstable.feature.versions.enable"))] = "true"
    if case.number < (4, 0) and chance(rng, 12):
        config["inter.broker.protocol.version"] = rng.choice(("3.3", "3.3-IV3"))


def _ask_for_cluster(case: Case, rng: random.Random) -> None:
    weird = ("XgM8cvG1S-mQ3k4wGhkVpR", CLUSTER + "==", "abc", "my-cluster", "AAAAAAAAAAAAAAAAAAAAAA", "a b:c=d#e!", "")
    cluster = rng.choice(weird) if chance(rng, 15) else CLUSTER
    case.arguments += ["-t", cluster] if cluster else ["--cluster-id="]
    if chance(rng, 3):
        case.arguments[-2:] = ["--cluster-id=-xyz"]


def _ask_for_voters(case: Case, rng: random.Random) -> None:
    if case.number < (3, 9):
        if chance(rng, 3):
            case.arguments.append("-s")
        return
    is_controller = "controller" in case.config["process.roles"]
    is_dynamic = "controller.quorum.bootstrap.servers" in case.config
    likely = (("-s", "-I", "-N") if is_controller else ("-N", "", "-I")) if is_dynamic else ("",)
    flag = rng.choice(likely) if chance(rng, 80) else rng.choice(("-s", "-I", "-N", ""))
    case.arguments += [flag, _voters(rng)] if flag == "-I" else [flag] * bool(flag)


def _voters(rng: random.Random) -> str:
    ids = rng.choice(((1,), (1, 2, 3), (1, 2, 3), (2, 3), (1, 17, 33), (100, 1, 70)))
    hosts = ("127.0.0.1", "c.example.com", "[::1]", "localhost")
    voters = [f"{id_}@{rng.choice(hosts)}:{9093 + n}:{VOTER_IDS[n]}" for n, id_ in enumerate(ids)]
    if chance(rng, 15):
        voters[0] = rng.choice(
            (
                f"{ids[0]}@:9093:{VOTER_IDS[0]}", f"{ids[0]}@h:0:{VOTER_IDS[0]}", f"{ids[0]}@h:9093:{RESERVED_ID}",
                f"{ids[0]}@h:99999:{VOTER_IDS[0]}", f"{ids[0]}@h:9093", "nonsense", f"-1@h:9093:{VOTER_IDS[0]}",
                f"{ids[0]}@[::1:9093:{VOTER_IDS[0]}", f"x@h:9093:{VOTER_IDS[0]}", f"{ids[0]}@h:9093:short",
            )
        )  # fmt: skip
    if chance(rng, 5):
        voters.append(voters[-1])
    return rng.choice((",", ",", ", ", ",,")).join(voters)


def _ask_for_levels(case: Case, rng: random.Random) -> None:
    own = case.release.rpartition(".")[0]
    if chance(rng, 40):
        case.arguments += ["-r", own if chance(rng, 40) else rng.choice(RELEASE_TEXTS)]
    if chance(rng, 35 if case.number >= (3, 8) else 3):
        for _ in range(rng.choice((1, 1, 2))):
            case.arguments += ["-f", rng.choice(FEATURES)]
    if chance(rng, 25 if case.number >= (3, 5) else 3):
        for _ in range(rng.choice((1, 1, 2))):
            case.arguments += ["--add-scram", rng.choice(SCRAM if chance(rng, 30) else SCRAM[:2])]


def _prepare_disks(case: Case, rng: random.Random) -> None:
    if chance(rng, 55):
        return
    if chance(rng, 75):
        case.arguments.append("-g")
    for name in case.names:
        if chance(rng, 55):
            _prepare(case, name, rng.choice(_KINDS), rng)
    # A blank metadata directory next to a formatted one is refused, unless a format was interrupted there.
    case.differences.add("metadata-disk-lost")


def _prepare(case: Case, name: str, kind: str, rng: random.Random) -> None:
    position = case.names.index(name)
    own_id = VOTER_IDS[0] if chance(rng, 10) else f"{position}{21 * 'A'}"
    makers: dict[str, list[Disk]] = {
        "blank": [_folder],
        "formatted": [_formatted(CLUSTER, 1, own_id)],
        "other cluster": [_formatted(OTHER_CLUSTER, 1, own_id)],
        "other node": [_formatted(CLUSTER, 7, own_id)],
        "reserved id": [_formatted(CLUSTER, 1, RESERVED_ID)],
        "same id": [_formatted(CLUSTER, 1, VOTER_IDS[1])],
        "version 0": [_file("meta.properties", f"version=0\nbroker.id=1\ncluster.id={CLUSTER}\n")],
        "empty file": [_file("meta.properties", "")],
        "unknown version": [_file("meta.properties", "version=2\nnode.id=1\n")],
        "blank in id": [_file("meta.properties", f"version=1\nnode.id=1 \ncluster.id={CLUSTER}\n")],
        "folder in place": [_subfolder("meta.properties")],
        "half done": [_file("bootstrap.checkpoint", "half"), _file("meta.properties.tmp", "half")],
        "used": [_file("topic-0/00000000000000000000.log", "data")],
        "stray file": [_file("notes.txt", "mine")],
        "lost+found": [_subfolder("lost+found")],
        "not a directory": [_plain_file],
    }
    case.disks[name] = makers[kind]
    if kind in {"used", "stray file"}:
        case.differences.add("directory-not-blank")
    if kind in {"unknown version", "blank in id", "folder in place", "not a directory"}:
        unreadable = "metadata-directory-unreadable" if name == case.metadata else "log-directory-unreadable"
        case.differences.add(unreadable)


_KINDS = (
    "blank", "blank", "formatted", "formatted", "formatted", "formatted", "other cluster", "other node", "reserved id",
    "same id", "version 0", "empty file", "unknown version", "blank in id", "folder in place", "half done", "used",
    "stray file", "lost+found", "not a directory",
)  # fmt: skip


def _folder(place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)


def _plain_file(place: Path) -> None:
    place.write_text("no directory")


def _subfolder(name: str) -> Disk:
    return lambda place: (place / name).mkdir(parents=True)


def _file(name: str, text: str) -> Disk:
    def make(place: Path) -> None:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)

    return make


def _formatted(cluster_id: str, node_id: int, directory_id: str) -> Disk:
    return _file(
        "meta.properties",
        f"#\n#Fri Nov 20 10:27:37 UTC 2026\nnode.id={node_id}\ndirectory.id={directory_id}\nversion=1\n"
        f"cluster.id={cluster_id}\n",
    )
