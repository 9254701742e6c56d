"""Our reading and writing of a real ZooKeeper: whole trees, one moment, rights, losses, TLS and SASL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import InputError, KafkactlError, RefusedError, UnreachableError
from kafkactl.files.clock import SystemClock
from kafkactl.migration.io.zookeeper.client import ZooKeeper, ZooKeeperSettings, open_zookeeper, zookeeper_settings
from kafkactl.migration.io.zookeeper.read import Reader
from kafkactl.migration.zktree.znode import Hidden
from tests.conftest import Run
from tests.lab.harness.pool import Pool
from tests.lab.harness.ports import free_port
from tests.lab.harness.zookeeper import ZooKeeperNode
from tests.lab.migration.kazoo_session import kazoo_session
from tests.lab.migration.zookeeper_seed import seeded
from tests.net.certificates import Authority

USER = "kafka"
PASSWORD = "zk-s3cret"
STORES = {"trust": "authority", "key": "client"}
_PROVIDER = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"


@pytest.fixture(scope="module")
def node(lab_pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperNode]:
    """Yield one server with everything: plain, TLS with client certificates, SASL for who asks for it."""
    folder = tmp_path_factory.mktemp("zookeeper")
    authority = Authority()
    authority.save(folder)
    authority.identity("server").save(folder, "server")
    authority.identity("client").save(folder, "client")
    authority.identity("elsewhere", hosts=("elsewhere.example",)).save(folder, "elsewhere")
    jaas = folder / "jaas.conf"
    jaas.write_text(
        f'Server {{ org.apache.zookeeper.server.auth.DigestLoginModule required user_{USER}="{PASSWORD}"; }};\n'
        f"Client {{ org.apache.zookeeper.server.auth.DigestLoginModule required\n"
        f'  username="{USER}" password="{PASSWORD}"; }};\n',
        encoding="utf-8",
    )
    secure = free_port()
    settings = {
        "secureClientPort": str(secure),
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.keyStore.location": str(folder / "server.pem"),
        "ssl.trustStore.location": str(folder / "authority.pem"),
        "authProvider.sasl": _PROVIDER,
    }
    options = [f"-Djava.security.auth.login.config={jaas}"]
    with ZooKeeperNode(folder, settings=settings, java_options=options, pool=lab_pool) as server:
        server.start().wait_ready()
        seeded(server.connect, "/kafka")
        yield server


@pytest.fixture
def zookeeper(node: ZooKeeperNode) -> Iterator[ZooKeeper]:
    with open_zookeeper(f"{node.connect}/kafka", timeout_ms=20_000) as found:
        yield found


@pytest.fixture
def kazoo(node: ZooKeeperNode) -> Iterator[KazooClient]:
    with kazoo_session(f"{node.connect}/kafka") as client:
        yield client


def tls(folder: Path, client: str = "client", **more: str) -> ZooKeeperSettings:
    return zookeeper_settings(
        {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
            "zookeeper.ssl.truststore.location": str(folder / "authority.pem"),
            "zookeeper.ssl.keystore.location": str(folder / f"{client}.pem"),
            **more,
        }
    )


def secure(node: ZooKeeperNode, host: str = "127.0.0.1") -> str:
    lines = node.config_file.read_text(encoding="utf-8").splitlines()
    return f"{host}:{next(line for line in lines if line.startswith('secureClientPort=')).partition('=')[2]}/kafka"


def test_whole_tree_is_read_as_by_kazoo(zookeeper: ZooKeeper, kazoo: KazooClient) -> None:
    tree = zookeeper.read_tree()
    assert tree.zxid_before == tree.zxid_after and not tree.findings
    assert tree.chroot == "/kafka"
    for path, znode in tree.znodes.items():
        data, stat = kazoo.get(path)
        assert (znode.data, znode.version, znode.mzxid, znode.pzxid) == (data, stat.version, stat.mzxid, stat.pzxid)
        assert (znode.ctime_ms, znode.num_children) == (stat.ctime, stat.numChildren)
        assert set(tree.children(path)) <= set(kazoo.get_children(path))
    states = [path for path in tree.znodes if path.endswith("/state")]
    assert len(states) == 12
    assert tree.znodes["/cluster/id"].acl[0].scheme == "world"


def test_single_reads_where_the_server_knows_no_others(node: ZooKeeperNode, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_zookeeper(f"{node.connect}/kafka") as zookeeper:
        many = zookeeper.read_tree()
        monkeypatch.setattr(Reader, "_knows_multi", lambda self: False)
        assert zookeeper.read_tree().znodes == many.znodes


def test_tree_that_moves_is_read_until_it_stands(
    zookeeper: ZooKeeper, kazoo: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A topic changes while the first look is taken: what is given is the second state, whole.
    path, walk, moved = "/brokers/topics/topic-1", Reader.walk, []

    def walk_then_move(self: Reader, roots: list[str]) -> object:
        found = walk(self, roots)
        if not moved:
            kazoo.create("/config/topics/new", b'{"version":1,"config":{}}')
            moved.append(kazoo.set(path, kazoo.get(path)[0]).version)
        return found

    monkeypatch.setattr(Reader, "walk", walk_then_move)
    tree = zookeeper.read_tree()
    assert tree.znodes[path].version == moved[0]
    assert "new" in tree.children("/config/topics") and not tree.findings
    kazoo.delete("/config/topics/new")


def test_tree_that_never_stops_changing_is_named(
    zookeeper: ZooKeeper, kazoo: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sync = "/brokers/topics/topic-2", Reader.sync

    def change_then_sync(self: Reader) -> int:
        kazoo.set(path, kazoo.get(path)[0])
        return sync(self)

    monkeypatch.setattr(Reader, "sync", change_then_sync)
    (found,) = zookeeper.read_tree(passes=3).findings
    assert found.id == "tree-changed-while-read" and found.evidence["paths"] == [path]


def test_work_in_progress_is_not_waited_for(
    zookeeper: ZooKeeper, kazoo: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    kazoo.create("/migration", b"{}")
    sync = Reader.sync

    def dual_write(self: Reader) -> int:
        kazoo.set("/migration", b"{}")
        return sync(self)

    monkeypatch.setattr(Reader, "sync", dual_write)
    tree = zookeeper.read_tree(passes=3)
    kazoo.delete("/migration")
    assert not tree.findings and "/migration" in tree.znodes


def test_znode_without_permission_is_marked_in_the_tree(zookeeper: ZooKeeper, kazoo: KazooClient) -> None:
    kazoo.create("/config/users/alice", b"x", acl=[make_digest_acl("a", "s3cret", all=True)])
    try:
        tree = zookeeper.read_tree()
        assert tree.znodes["/config/users/alice"].hidden is Hidden.NO_PERMISSION
        assert tree.znodes["/config/users/alice"].data is None and not tree.findings
        with pytest.raises(UnreachableError) as caught:
            zookeeper.children("/config/users/alice")
        assert caught.value.id == "zookeeper-no-permission"
    finally:
        kazoo.delete("/config/users/alice")


def test_missing_chroot_is_reported(node: ZooKeeperNode) -> None:
    with open_zookeeper(f"{node.connect}/nothing/here") as zookeeper:
        tree = zookeeper.read_tree()
    assert not tree.znodes and [finding.id for finding in tree.findings] == ["no-kafka-tree"]


def test_members_say_what_they_are(zookeeper: ZooKeeper) -> None:
    (member,) = zookeeper.members()
    assert (member.mode, member.version) == ("standalone", "3.8.4")


def test_copy_is_predicted_of_a_live_tree(node: ZooKeeperNode, kafkactl: Callable[..., Run], tmp_path: Path) -> None:
    run = kafkactl("dryrun", "zk-migration", f"{node.connect}/kafka", "-o", "json")
    assert (run.code, run.json["verdict"]) == (0, "ok")
    assert run.json["effects"]["records_appended"]["by_type"] == {
        "ConfigRecord": 3,
        "PartitionRecord": 12,
        "TopicRecord": 3,
        "ZkMigrationStateRecord": 1,
    }
    config = tmp_path / "controller.properties"
    login = f"java.security.auth.login.config={node.workdir / 'jaas.conf'}\n"
    stores = [f"zookeeper.ssl.{kind}store.location={node.workdir / file}.pem" for kind, file in STORES.items()]
    config.write_text(login + "\n".join(["zookeeper.ssl.client.enable=true", *stores]) + "\n", encoding="utf-8")
    secured = kafkactl("dryrun", "zk-migration", secure(node), "--config", config, "-o", "json")
    assert secured.code == 0 and secured.json["effects"] == run.json["effects"]


def test_changes_check_versions(zookeeper: ZooKeeper, kazoo: KazooClient) -> None:
    kazoo.create("/migration", b"{}")
    assert zookeeper.set("/migration", b"{1}", 0) == 1
    for asked, id_ in (
        (lambda: zookeeper.set("/migration", b"{2}", 0), "znode-changed"),
        (lambda: zookeeper.delete("/migration", 0), "znode-changed"),
        (lambda: zookeeper.delete("/gone", 0), "znode-gone"),
        (lambda: zookeeper.delete("/brokers", 0), "znode-has-children"),
    ):
        with pytest.raises(RefusedError) as caught:
            asked()
        assert caught.value.id == id_
    with pytest.raises(ValueError, match="any"):
        zookeeper.delete("/migration", -1)
    zookeeper.delete("/migration", 1)
    assert zookeeper.read("/migration") is None


def started_by(pool: Pool, server: ZooKeeperNode, thread: int) -> None:
    pool.act_for(thread)
    server.start()


def test_session_survives_a_restart_and_ends_at_a_paused_server(lab_pool: Pool, tmp_path: Path) -> None:
    with ZooKeeperNode(tmp_path, pool=lab_pool) as server:
        server.start().wait_ready()
        seeded(server.connect, topics=2)
        with open_zookeeper(server.connect, timeout_ms=30_000) as zookeeper:
            before = zookeeper.read_tree()
            server.kill()
            threading.Timer(0.5, started_by, (lab_pool, server, threading.get_ident())).start()
            assert zookeeper.read_tree().znodes == before.znodes  # the session is made again under way
            server.wait_ready()
            server.pause()
            started = time.monotonic()
            with pytest.raises(UnreachableError) as caught:
                zookeeper.read("/cluster/id", deadline=Deadline.after(1_500, SystemClock()))
            assert caught.value.id in ("zookeeper-timed-out", "zookeeper-unreachable") and caught.value.advice
            with pytest.raises(KafkactlError) as lost:
                zookeeper.set("/cluster/id", b"", 0, deadline=Deadline.after(1_500, SystemClock()))
            assert lost.value.id == "zookeeper-write-unknown"
            assert time.monotonic() - started < 10
            server.resume()
    with pytest.raises(UnreachableError) as caught:
        open_zookeeper(server.connect, timeout_ms=5_000)
    assert caught.value.id == "zookeeper-unreachable" and "refused" in str(caught.value.cause)


def test_client_certificate_is_accepted(node: ZooKeeperNode) -> None:
    with open_zookeeper(secure(node), settings=tls(node.workdir), timeout_ms=15_000) as zookeeper:
        assert zookeeper.read("/cluster/id")
        assert zookeeper.members()[0].mode == "standalone"


def test_tls_checks_the_host(node: ZooKeeperNode, tmp_path: Path) -> None:
    Authority("another").save(tmp_path)
    stranger = tls(node.workdir, **{"zookeeper.ssl.truststore.location": str(tmp_path / "authority.pem")})
    for place, settings, id_ in (
        (secure(node), stranger, "certificate-not-trusted"),
        (f"{node.connect}/kafka", tls(node.workdir), "tls"),
    ):
        with pytest.raises(UnreachableError) as caught:
            open_zookeeper(place, settings=settings, timeout_ms=4_000)
        assert id_ in caught.value.id, caught.value.id


def test_tls_names_the_store_that_is_wrong(node: ZooKeeperNode, tmp_path: Path) -> None:
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed" + bytes(20))
    settings = tls(node.workdir, **{"zookeeper.ssl.truststore.location": str(tmp_path / "store.jks")})
    with pytest.raises(InputError) as caught:
        open_zookeeper(secure(node), settings=settings)
    assert caught.value.id == "jks-not-readable" and "zookeeper.ssl.truststore" in caught.value.message


def test_sasl_lets_in_whom_it_knows(node: ZooKeeperNode, kazoo: KazooClient) -> None:
    settings = zookeeper_settings({"java.security.auth.login.config": str(node.workdir / "jaas.conf")})
    from kazoo.security import make_acl

    kazoo.create("/config/users/carol", b"hers", acl=[make_acl("sasl", USER, all=True)])
    with open_zookeeper(f"{node.connect}/kafka", settings=settings, timeout_ms=15_000) as zookeeper:
        found = zookeeper.read("/config/users/carol")
        assert found is not None and found.data == b"hers"
        zookeeper.delete("/config/users/carol", 0)


def test_sasl_refuses_another_password(node: ZooKeeperNode) -> None:
    line = f'org.apache.zookeeper.server.auth.DigestLoginModule required username="{USER}" password="no-s3cret";'
    settings = zookeeper_settings({"zookeeper.sasl.jaas.config": line})
    with pytest.raises(UnreachableError) as caught:
        open_zookeeper(f"{node.connect}/kafka", settings=settings, timeout_ms=5_000)
    assert caught.value.id == "zookeeper-login-refused"
    assert "s3cret" not in str(caught.value.to_dict())


def test_server_that_enforces_sasl_names_the_missing_line(lab_pool: Pool, tmp_path: Path) -> None:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(
        f'Server {{ org.apache.zookeeper.server.auth.DigestLoginModule required user_{USER}="{PASSWORD}"; }};\n'
        "Client { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
        f'  username="{USER}" password="{PASSWORD}"; }};\n',
        encoding="utf-8",
    )
    settings = {"authProvider.sasl": _PROVIDER, "enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"}
    options = [f"-Djava.security.auth.login.config={jaas}"]
    with ZooKeeperNode(tmp_path, settings=settings, java_options=options, pool=lab_pool) as server:
        server.start().wait_ready()
        with (
            pytest.raises(UnreachableError) as caught,
            open_zookeeper(server.connect, timeout_ms=15_000) as zookeeper,
        ):
            zookeeper.read_tree()
        assert caught.value.id == "zookeeper-requires-login"
        line = {"java.security.auth.login.config": str(jaas)}  # the remedy, carried out
        with open_zookeeper(server.connect, settings=zookeeper_settings(line), timeout_ms=15_000) as zookeeper:
            assert zookeeper.read("/zookeeper") is not None


@pytest.mark.campaign
def test_server_without_its_quorum_lets_read_and_no_more(lab_pool: Pool, tmp_path: Path) -> None:
    port = free_port()
    with ZooKeeperNode(tmp_path, port=port, pool=lab_pool) as alone:
        alone.start().wait_ready()
        seeded(alone.connect, "/kafka", topics=2)
        with open_zookeeper(f"{alone.connect}/kafka") as zookeeper:
            before = zookeeper.read_tree()
    (tmp_path / "zookeeper-data" / "myid").write_text("1", encoding="utf-8")
    others = {f"server.{number}": f"127.0.0.1:{free_port()}:{free_port()}" for number in (1, 2, 3)}
    more = {"initLimit": "5", "syncLimit": "2", "localSessionsEnabled": "true", **others}
    options = ["-Dreadonlymode.enabled=true"]
    with ZooKeeperNode(tmp_path, port=port, settings=more, java_options=options, pool=lab_pool) as server:
        server.start()
        deadline = time.monotonic() + 180
        while "Read-only server started" not in server.log_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        connect = f"{server.connect}/kafka"
        with pytest.raises(UnreachableError) as caught:
            open_zookeeper(connect, timeout_ms=3_000)
        assert caught.value.id == "zookeeper-unreachable"
        settings = ZooKeeperSettings(read_only=True)
        with open_zookeeper(connect, settings=settings, timeout_ms=60_000) as zookeeper:
            tree = zookeeper.read_tree()
            assert tree.znodes == before.znodes
            assert [finding.id for finding in tree.findings] == ["zookeeper-read-only"]
            with pytest.raises(UnreachableError) as refused:
                zookeeper.set("/controller_epoch", b"9", 0)
            assert refused.value.id == "zookeeper-read-only"
            assert zookeeper.members()[0].mode == "read-only"
