"""Classes that a file names: of another release, of an unknown maker, on a class path that can be looked at."""

from __future__ import annotations

import struct
import zipfile

import pytest

from kafkactl.storage.config.plugin_classes import is_missing, releases_with
from kafkactl.storage.io.class_paths import look_for_class
from kafkactl.storage.verify.classes import classes_with_path
from tests.storage.config.node_configs import COMBINED, read, refused, text
from tests.storage.verify.test_addresses import one
from tests.storage.verify.test_file_settings import STORE, TIERED, ids, made, with_lines

ACL = "kafka.security.authorizer.AclAuthorizer"
SECURED = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"


def test_class_that_was_moved_is_refused_where_the_configuration_loads_it():
    line = f"sasl.login.callback.handler.class={SECURED}\n".encode()
    assert read(text(COMBINED) + line, "3.9").node_id == 1
    assert "could not be found" in refused(text(COMBINED) + line, "4.0").message


@pytest.mark.parametrize(
    ("release", "assignors", "is_loaded"),
    [
        ("4.0", "uniform,range", True),
        ("3.9", "uniform", False),
        ("3.9", "org.apache.kafka.coordinator.group.assignor.UniformAssignor", True),
        ("3.6", "org.apache.kafka.coordinator.group.assignor.UniformAssignor", False),
        ("4.3", "org.example.Own", True),
        ("4.3", "sticky", False),
    ],
)
def test_assignors_are_short_names_of_the_release_or_classes(release, assignors, is_loaded):
    data = text(COMBINED) + f"group.consumer.assignors={assignors}\n".encode()
    if is_loaded:
        assert read(data, release).node_id == 1
    else:
        assert "cannot be found" in refused(data, release).message


@pytest.mark.parametrize("key", ["authorizer.class.name", "metric.reporters", "replica.selector.class"])
def test_class_that_left_kafka_ends_a_node_of_a_later_release(node, key):
    answer = made(node, **{key.replace(".", "_"): ACL}).verify()
    assert answer.will_start is False and answer.expected_failure.message == ACL
    assert "3.3 to 3.9" in one(answer, "class-not-in-release").message


def test_controller_loads_no_replica_selector(node):
    assert made(node, roles="controller", replica_selector_class=ACL).verify().will_start


def test_authorizer_of_zookeeper_needs_zookeeper(node):
    answer = made(node, "3.9.2", authorizer_class_name=ACL).verify()
    assert answer.will_start is False
    assert "authorizer-needs-zookeeper" in ids(answer)


def test_class_of_another_maker_is_not_judged(node):
    answer = made(node, authorizer_class_name="org.example.Authorizer", metric_reporters="a.B,c.D").verify()
    assert answer.will_start
    assert one(answer, "classes-not-checked").severity.value == "info"
    assert len(one(answer, "classes-not-checked").evidence["classes"]) == 3


def test_misspelt_class_of_kafka_leaves_the_start_open(node):
    answer = made(node, authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthoriser").verify()
    assert answer.will_start is None and "class-not-known" in ids(answer)


def test_classes_of_the_release_need_no_word(node):
    name = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    answer = made(
        node, authorizer_class_name=name, metric_reporters="org.apache.kafka.common.metrics.JmxReporter"
    ).verify()
    assert answer.will_start and not {"classes-not-checked", "class-not-known"} & set(ids(answer))


def test_listener_has_classes_of_its_own(node):
    ready = made(node, logins=[f"listener.name.none.principal.builder.class={SECURED}"])
    assert ready.verify().will_start  # no listener of that name is opened
    with_lines(ready, f"listener.name.plaintext.plain.sasl.server.callback.handler.class={SECURED}")
    assert ready.verify().will_start is False


def test_table_of_classes_knows_when_a_class_came_and_went():
    assert releases_with(ACL)[-1] == "3.9"
    assert is_missing(ACL, "4.0") and not is_missing(ACL, "3.9") and not is_missing("org.example.X", "4.0")


@pytest.fixture
def jar(tmp_path):
    folder = tmp_path / "plugin"
    folder.mkdir()
    with zipfile.ZipFile(folder / "store.jar", "w") as archive:
        archive.writestr("org/example/Store.class", b"\xca\xfe")
    return folder / "store.jar"


@pytest.mark.parametrize(
    ("path", "has_class", "missing"),
    [
        ("{folder}/*", True, 0),
        ("{folder}/store.jar", True, 0),
        ("/nowhere/x.jar:{folder}/*", True, 1),
        ("{folder}", False, 0),  # a folder of classes, not of jars
        ("{folder}/", False, 0),
        ("/nowhere/*", False, 1),
        ("/nowhere/x.jar,{folder}/store.jar", False, 1),  # the separator is a colon
    ],
)
def test_class_path_is_read_as_kafka_reads_it(jar, path, has_class, missing):
    facts = look_for_class(path.format(folder=jar.parent), "org.example.Store")
    assert (facts.has_class, len(facts.missing), facts.unreadable) == (has_class, missing, ())


def test_class_in_a_folder_of_classes_is_there(tmp_path):
    (tmp_path / "org/example").mkdir(parents=True)
    (tmp_path / "org/example/Store.class").write_bytes(b"x")
    assert look_for_class(str(tmp_path), "org.example.Store").has_class


def test_broken_jar_leaves_open_what_is_there(jar):
    (jar.parent / "broken.jar").write_bytes(b"no jar")
    facts = look_for_class(f"{jar.parent}/*", "org.example.Other")
    assert not facts.has_class and "broken" not in facts.missing and facts.unreadable


def test_jar_with_a_directory_of_millions_of_names_is_not_unpacked(jar):
    size = (32 << 20) + 1
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, size, 0, 0)
    with (jar.parent / "bomb.jar").open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(end)
    facts = look_for_class(f"{jar.parent}/*", "org.example.Other")
    (unreadable,) = facts.unreadable
    assert f"its directory has {size} bytes, and the limit is {32 << 20}" in unreadable


@pytest.mark.parametrize(
    ("path", "name", "will_start", "id"),
    [
        ("{folder}/*", "org.example.Store", True, None),
        ("{folder}/*", "org.example.Other", False, "class-not-on-class-path"),
        ("/nowhere/*", "org.example.Store", False, "class-not-on-class-path"),
    ],
)
def test_command_looks_at_the_class_path_of_this_host(node, kafkactl, jar, path, name, will_start, id):
    settings = TIERED | STORE | {"remote_log_storage_manager_class_name": name}
    settings["remote_log_storage_manager_class_path"] = path.format(folder=jar.parent)
    ready = made(node, **settings)
    run = kafkactl("storage", "verify", "-c", ready.file, "--kafka-version", "4.3.1", "-o", "json")
    assert run.json["will_start"] is will_start
    assert (id is None) or id in [finding["id"] for finding in run.json["findings"]]


def test_only_a_broker_loads_the_plugins_of_tiered_storage(node):
    settings = TIERED | STORE | {"remote_log_storage_manager_class_path": "/x/*"}
    broker = node("4.3.1").configure(static=True, **settings).config()
    assert list(classes_with_path(broker)) == [("remote.log.storage.manager.class.name", "org.example.Store", "/x/*")]
    assert not list(classes_with_path(node("4.3.1").configure(static=True, roles="controller", **settings).config()))
