"""Targets: texts of operators: configurations, contexts, inventories, logins, scripts, and arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from kafkactl.change.hooks.words import parse_template, placeholders
from kafkactl.cluster.quorum.voters import parse_host_port, parse_static_voters, parse_voter, parse_voters
from kafkactl.core.errors import DecodeError, InputError, RefusedError, UnreachableError
from kafkactl.core.values import Uuid
from kafkactl.dryrun.api.events import read_events
from kafkactl.dryrun.reassignment_plan import parse_plan as parse_reassignment
from kafkactl.dryrun.scenarios.alter_config import parse_entity
from kafkactl.dryrun.scenarios.elect_leaders import parse_partition
from kafkactl.dryrun.voter_change import parse_voter_change
from kafkactl.files.contexts import parse_contexts
from kafkactl.files.contexts_edit import edited as edited_contexts
from kafkactl.files.contexts_edit import with_context, without_context
from kafkactl.kafka.api.exposure import client_exposure
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.sasl.assertion import assertion_source
from kafkactl.kafka.sasl.gssapi import read_login
from kafkactl.migration.inventory import parse_inventory as parse_migration
from kafkactl.migration.render.properties_edit import Edits, shown_diff
from kafkactl.migration.render.properties_edit import edited as edited_properties
from kafkactl.migration.zktree.connect import chroot_of, parse_connect_string
from kafkactl.net.transport import parse_addresses
from kafkactl.protocol.catalog.mapping import parse_feature_level
from kafkactl.protocol.catalog.release_version import parse_release_version
from kafkactl.protocol.catalog.releases import find_release, newest_release
from kafkactl.protocol.sasl.oauthbearer import OAuthBearer
from kafkactl.protocol.sasl.scram import Scram
from kafkactl.protocol.text.client_properties import read_client_properties
from kafkactl.protocol.text.jaas import parse_jaas
from kafkactl.protocol.text.java_text import decode_base64, parse_boolean, parse_double, parse_int, split_list
from kafkactl.protocol.text.pem import read_pem
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.protocol.text.redact_config import redact_config
from kafkactl.protocol.text.toml_lines import key_lines
from kafkactl.quorum.api.recover.words import parse_address, parse_listener
from kafkactl.quorum.io.candidate import read_controller_config
from kafkactl.quorum.target import parse_target
from kafkactl.roll.inventory import parse_roll_inventory
from kafkactl.simulator.api.simulation import _read as read_script
from kafkactl.storage.api.request import parse_scram_users
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.fleet.inventory import parse_inventory as parse_fleet
from kafkactl.storage.format.scram import parse_scram
from kafkactl.tiered.layouts import aiven_remote_size, layout_of, uuid_bytes
from tests.campaigns.fuzz.target import Feed, Target, UndeclaredError, scratch
from tests.repository.tree import ROOT
from tests.samples.hostile_inputs import DIGEST, KERBEROS, OAUTH, PLAIN, SCRAM
from tests.storage.fleet.fleets import FleetBuilder

Made = tuple[Feed, Sequence[bytes]]
CONTEXTS = (
    b'current = "prod"\n[contexts.prod]\nbootstrap_server = "h:1,h:2"\ncommand_config = "c.properties"\n'
    b'[contexts."a b"]\nbootstrap_controller = "h:1"\nspark_master = "local[2]"\n',
    b'# x\n[contexts.a]\nbootstrap_server = "h:1"  # why\n',
)


def _contexts() -> Made:
    """Read, then each context changed and taken out: what is written says what was meant, or is refused."""

    def feed(data: bytes) -> object:
        before = parse_contexts(data, file="f")
        text = data.decode("utf-8")
        for name in list(before.by_name)[:2]:
            for after in (without_context(before, name), with_context(before, name, {"command_config": 'a "b" \\'})):
                with suppress(InputError):
                    parse_contexts(edited_contexts(text, before, after).encode(), file="f")
        return before

    return feed, CONTEXTS


def _server_properties() -> Made:
    releases = [find_release(text) for text in ("3.3.0", "3.6.0", "3.9.0", "4.0.0", "4.3.1")]

    def feed(data: bytes) -> object:
        redact_config(data.decode("utf-8", "replace"))
        for release in releases[1:-1:2]:
            with suppress(InputError):
                read_node_config(data, file="f", release=release)
        with suppress(InputError):
            read_node_config(data, file="f", release=releases[-1])
        return read_controller_config(data, "f")

    fleet = FleetBuilder()
    return feed, [
        fleet.config(1).encode(), fleet.config(4).encode(), FleetBuilder(static=True).config(1).encode(),
        b"zookeeper.connect=zk1:2181/kafka\nbroker.id=1\nlisteners=PLAINTEXT://:9092\nlog.dirs=/a, /b\n"
        b"inter.broker.protocol.version=3.6\nconfig.providers=file\nssl.keystore.password=${file:/a:b}\n",
    ]  # fmt: skip


def _edited() -> Made:
    """Return a properties file that a migration changes; the changed file says what was meant."""
    edits = Edits(
        set={"a": "ä b\\", "new.key": " x"},
        remove={"b"},
        rename={"broker.id": "node.id"},
        neighbours={"new.key": ("a",)},
    )

    def feed(data: bytes) -> object:
        before = dict(parse_properties(data).mapping)
        after = edited_properties(data, edits)
        found = dict(parse_properties(after).mapping)
        kept = {name: value for name, value in before.items() if name not in ("b", "broker.id", "node.id", *edits.set)}
        if any(found.get(name) != value for name, value in {**kept, **edits.set}.items()) or "b" in found:
            raise UndeclaredError(f"{before} became {found}")
        return shown_diff(data, after, before_name="a", after_name="b")

    return feed, [
        b"a=1\nb = 2\nlog.dirs:/a,\\\n  /b\n# b=3\nssl.key.password=hunter2\nbroker.id=1\n",
        b"a\\ b c\nb\t\\\n=\\u00e4\n",
    ]


def _client_properties() -> Made:
    def feed(data: bytes) -> object:
        config = read_client_config(data, file="f")
        client_exposure(config)
        return config.access()

    more = "request.timeout.ms=1000\nssl.endpoint.identification.algorithm=\nssl.enabled.protocols=TLSv1.2,TLSv1.3\n"
    logins = {
        "PLAIN": f'{PLAIN} username="a" password="hunter2";',
        "SCRAM-SHA-512": f'{SCRAM} username="a" password="hunter2" tokenauth="true";',
        "OAUTHBEARER": f'{OAUTH} clientId="a" clientSecret="hunter2" scope="s" extension_a="b";',
        "GSSAPI": f'{KERBEROS} useKeyTab=true keyTab="/nowhere" principal="a@B";',
    }
    return feed, [
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n{more}".encode()
        for mechanism, login in logins.items()
    ] + [
        b"security.protocol=SSL\nssl.truststore.type=PEM\n"
        b"ssl.truststore.certificates=-----BEGIN CERTIFICATE-----\\nAAAA\n"
    ]


def _jaas() -> Made:
    properties = read_client_properties({}, file="f")

    def feed(data: bytes) -> object:
        entry = parse_jaas(data.decode("utf-8", "replace"))
        with suppress(InputError):
            read_login(entry, properties)
        return entry.short_name, entry.shown_module

    return feed, [
        f'{PLAIN} username="a" password="hun\\"ter2";'.encode(), f"{SCRAM} username='a' x=y tokenauth=true;".encode(),
        f'{KERBEROS} useKeyTab=true keyTab="/nowhere" principal="a@B" serviceName=kafka;'.encode(), DIGEST.encode(),
    ]  # fmt: skip


def _pem() -> Made:
    block = "-----BEGIN {0}-----\nProc-Type: 4\nMIIB\nAA==\n-----END {0}-----\n"
    seeds = [block.format(kind).encode() for kind in ("CERTIFICATE", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY")]
    return lambda data: read_pem(data.decode("utf-8", "replace")), [*seeds, b"x\n".join(seeds)]


def _assertion() -> Made:
    """Return the template of a signed assertion, and a private key that cannot be read."""
    template, key = scratch("assertion", "template.json"), scratch("assertion", "key.pem")
    prefix = "sasl.oauthbearer.assertion"
    properties = read_client_properties(
        {f"{prefix}.private.key.file": str(key), f"{prefix}.template.file": str(template), f"{prefix}.claim.iss": "i"},
        file="f",
    )

    def feed(data: bytes) -> object:
        template.write_bytes(data)
        key.write_bytes(data)
        return assertion_source(properties)()

    pem = b"-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
    return feed, [b'{"header":{"kid":"a"},"payload":{"aud":"b"}}', pem, b"MIIB"]


def _fleet() -> Made:
    seeds = [
        b'cluster_id = "q1Sh-9_ISia_zwGINzRvyQ"\nkafka_version = "4.3.1"\n'
        b'[[nodes]]\nid = 1\nhost = "h"\nconfig = "/a"\n'
        b'voter = "initial"\n[[nodes]]\nid = 2\nhost = "h2"\nconfig = "/b"\n[features]\n"metadata.version" = 25\n',
    ]

    def feed(data: bytes) -> object:
        with suppress(ValueError, RecursionError):
            key_lines(data.decode("utf-8"))
        return parse_fleet(data, file="f")

    return feed, seeds


def _connect_string() -> Made:
    def feed(data: bytes) -> object:
        text = data.decode("utf-8", "replace")
        chroot_of(text)
        with suppress(ValueError):
            return parse_connect_string(text)

    return feed, [b"zk1:2181/kafka", b"zk1, [2001:db8::1]:2182,,zk3/a/b", b"z:1/"]


def _migration_inventory() -> Made:
    seed = (
        b'[zookeeper]\nconnect = "zk1:2181/kafka"\n[hooks]\ntemplate = "systemd-ssh"\ntimeout_s = 300\n'
        b'[[nodes]]\nid = 1\nrole = "broker"\naddress = "h:9092"\nconfig = "/etc/s.properties"\n'
        b'[[nodes]]\nid = 3000\nrole = "controller"\n'
        b'address = "c:9093"\nconfig = "/c"\ncopy = "c.properties"\n'
    )
    words = (
        b'[zookeeper]\nconnect = "z:1"\n[hooks]\ntemplate = "command"\nrestart = ["ssh", "{host}", "x"]\n'
        b'[[nodes]]\nid = 1\nrole = "broker"\naddress = "h:1"\nconfig = "/c"\n'
    )
    return lambda data: parse_migration(data, file="f"), [seed, words]


def _roll_inventory() -> Made:
    seed = (
        b'install = "between"\n[hooks]\ntemplate = "systemd-ssh"\n'
        b'[[nodes]]\nid = 1\nroles = ["broker"]\naddress = "h:9092"\nconfig = "/etc/s.properties"\nrack = "a"\n'
        b'[[nodes]]\nid = 2\nroles = ["broker", "controller"]\naddress = "k:9092"\n'
        b'controller_address = "k:9093"\nconfig = "/c"\nhooks = { running = ["r", "{host}"] }\n'
    )
    return lambda data: parse_roll_inventory(data, file="f"), [seed]


def _hooks() -> Made:
    def feed(data: bytes) -> object:
        return placeholders(parse_template(data.decode("utf-8", "replace").split("\n"), where="w"), where="w")

    return feed, [b"ssh\n{host}\nsudo systemctl restart {unit}", b"a{{b}}\n{", b"x\n}"]


def _script() -> Made:
    text = (
        b"voters 3 release 4.3\nseed 7\nat 1s stop 1\nat 2s start 1\nat 3s cut 1 2\nat 4s heal\nat 5s add 4\n"
        b"expect leader within 10s\n"
    )
    file = scratch("simulator", "s.sim")

    def feed(data: bytes) -> object:
        file.write_bytes(data)
        return read_script(str(file))

    return feed, [*_scripts(), text]


def _scripts() -> list[bytes]:
    found = sorted(path for path in (ROOT / "tests" / "scripts").rglob("*") if "simulat" in str(path))
    return [path.read_bytes() for path in found if path.is_file()][:12]


def _scram_messages() -> Made:
    """Return a server's first message, and its last after a sound first."""
    nonce = Scram("SCRAM-SHA-256", "u", "p", nonce=b"n" * 18).first().decode().partition(",r=")[2]
    first = f"r={nonce}theirs,s=c2FsdA==,i=4096".encode()

    def feed(data: bytes) -> object:
        challenge = data[1:]
        client = Scram("SCRAM-SHA-256", "u", "p", nonce=b"n" * 18)
        client.first()
        if data[:1] == b"1":
            return client.answer(challenge)
        with suppress(ValueError):  # OAuthBearer reads the same bytes
            OAuthBearer("x", {}).answer(challenge)
        client.answer(first)
        return client.answer(challenge)

    return feed, [
        b"1" + first, b"2v=" + b"A" * 43 + b"=", b"2e=unknown-user", b"2\x01",
        b'2{"status":"invalid_token","scope":"a"}',
    ]  # fmt: skip


def _scram_arguments() -> Made:
    """Return credentials as `--add-scram` takes them, in the grammars of all releases, without the iterations' time."""
    releases = [find_release(text) for text in ("3.6.0", "3.9.0", "4.3.1")]

    def feed(data: bytes) -> object:
        text = data.decode("utf-8", "surrogateescape")
        for user in parse_scram_users(data, source="f"):
            for release in releases:
                if sum(sign.isdigit() for sign in user.partition("iterations")[2]) <= 4:
                    with suppress(InputError):
                        parse_scram(user, release=release, salt=b"s" * 16)
        return text

    return feed, [
        b"SCRAM-SHA-256=[name=alice,password=alice-secret,iterations=4096,salt=\"MWx2NHBkbnc0ZndxN25vdGN4bTB5eTFrN3E=\"]\n",
        b'SCRAM-SHA-512=[name="b",saltedpassword="mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE=",salt="QQ==",iterations=5000]',
        b"# x\n\nSCRAM-SHA-256=[name=a]",
    ]  # fmt: skip


_ARGUMENTS: tuple[Callable[[str], object], ...] = (
    parse_addresses, parse_entity, parse_voter_change, parse_partition, parse_listener, parse_address, parse_target,
    parse_voter, parse_voters, parse_host_port, lambda text: parse_static_voters(text.split(",")),
    lambda text: parse_static_voters(text.split(","), anything_before_host=True),
    lambda text: parse_feature_level(newest_release(), text), find_release,
    lambda text: parse_release_version(newest_release(), text, unstable=False),
    lambda text: parse_release_version(newest_release(), text, unstable=True), layout_of, uuid_bytes, decode_base64,
    parse_boolean, parse_double, parse_int, split_list, lambda text: parse_int(text, 16),
    lambda text: aiven_remote_size(text.encode("utf-8", "surrogateescape")), _uuid := Uuid.parse,
)  # fmt: skip


def _arguments() -> Made:
    """Return words of the command line; the first byte chooses who reads them."""

    def feed(data: bytes) -> object:
        read = _ARGUMENTS[(data[0] if data else 0) % len(_ARGUMENTS)]
        try:
            return read(data[1:].decode("utf-8", "surrogateescape"))
        except ValueError as error:  # the one that says so in its docstring
            if read is not _uuid:
                raise
            return error

    words = (b"h:9092,[::1]:9093", b"topic:orders", b"4@h:9093", b"orders-3", b"CONTROLLER://h:9093",
             b"1@h1:9093:JEXY6aqzQY-32P5TStzaFg,2@[::1]:9093:XgM8cvG1S-mQ3k4wGhkVpQ", b"4,5@JEXY6aqzQY-32P5TStzaFg",
             b"metadata.version=4.3", b"4.3-IV0", b"4.3.1", b"{topic}/{partition}/{segment_id}.log", b"-0x1.8p3",
             b" TRUE ", b"q1Sh-9_ISia_zwGINzRvyQ")  # fmt: skip
    return feed, [bytes([number]) + word for number in range(len(_ARGUMENTS)) for word in words]


def _reassignment() -> Made:
    seed = (
        b'{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},'
        b'{"topic":"a","partition":1,"replicas":null}]}'
    )
    return lambda data: parse_reassignment(data.decode("utf-8", "replace"), file="f"), [seed]


def _events() -> Made:
    files = {True: scratch("events", "after.json"), False: scratch("events", "after.toml")}

    def feed(data: bytes) -> object:
        file: Path = files[data.lstrip()[:1] in (b"{", b"[")] if not data.startswith(b"[[") else files[False]
        file.write_bytes(data)
        return read_events(str(file))

    return feed, [
        b'{"scenario":"broker-loss","input":{"brokers":[1]},"after":[{"scenario":"replay","input":{}}]}',
        b'[[scenario]]\nname = "broker-loss"\nbrokers = [0]\n'
        b'[[scenario]]\nname = "alter-config"\nset = {"a.b" = "1"}\n',
    ]


TARGETS = (
    Target(name="contexts", make=_contexts, reads=("files.contexts", "files.contexts_edit")),
    Target(name="server-properties", make=_server_properties,
           reads=("storage.config.node_config", "storage.config.keys", "storage.config.listeners",
                  "quorum.io.candidate", "protocol.text.redact_config"),
           slow="each input is read by the rules of three releases, in some 15 ms"),
    Target(name="properties-edit", make=_edited, reads=("migration.render.properties_edit",)),
    Target(name="client-properties", make=_client_properties, declared=(DecodeError, InputError, RefusedError),
           reads=("kafka.client_config", "protocol.text.client_properties")),
    Target(name="jaas", make=_jaas, reads=("protocol.text.jaas", "kafka.sasl.gssapi")),
    Target(name="pem", make=_pem, reads=("protocol.text.pem",)),
    Target(name="assertion", make=_assertion, reads=("kafka.sasl.assertion",)),
    Target(name="fleet-inventory", make=_fleet,
           reads=("storage.fleet.inventory", "protocol.text.toml_tables", "protocol.text.toml_lines")),
    Target(name="connect-string", make=_connect_string, reads=("migration.zktree.connect",)),
    Target(name="migration-inventory", make=_migration_inventory, reads=("migration.inventory",)),
    Target(name="roll-inventory", make=_roll_inventory, reads=("roll.inventory",)),
    Target(name="hook-words", make=_hooks, reads=("change.hooks.words",)),
    Target(name="simulator-script", make=_script, reads=("simulator.script", "simulator.words")),
    Target(name="login-messages", make=_scram_messages, declared=(UnreachableError,),
           reads=("protocol.sasl.scram", "protocol.sasl.oauthbearer")),
    Target(name="scram-arguments", make=_scram_arguments,
           reads=("storage.api.request", "storage.format.scram", "storage.format.scram_argument")),
    Target(name="arguments", make=_arguments, most_bytes=256,
           reads=("net.transport", "dryrun.scenarios.alter_config", "dryrun.voter_change",
                  "dryrun.scenarios.elect_leaders", "protocol.catalog.mapping", "protocol.catalog.release_version",
                  "quorum.api.recover.words", "protocol.text.java_text", "quorum.target", "cluster.quorum.voters",
                  "tiered.layouts", "core.values")),
    Target(name="reassignment-plan", make=_reassignment, reads=("dryrun.reassignment_plan",)),
    Target(name="earlier-scenarios", make=_events, reads=("dryrun.api.events",)),
)  # fmt: skip
