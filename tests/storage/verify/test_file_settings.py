"""Settings of the file that a start does not survive: logins, tiered storage, the migration flag.

Real starts with them are in tests/lab/storage/setting_cases.py.
"""

from __future__ import annotations

import pytest

from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import metadata_record
from tests.storage.verify.nodes import SEGMENT, _batch, blocker_ids
from tests.storage.verify.test_addresses import one

MAP = "listener.security.protocol.map"
OWN_SASL = {"listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"}
CLIENT_SASL = {"listener_security_protocol_map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"} | {
    "inter_broker_listener_name": "PLAINTEXT", "sasl_mechanism_inter_broker_protocol": "PLAIN",
    "sasl_enabled_mechanisms": "PLAIN",
}  # fmt: skip
PLAIN_LOGIN = 'PlainLoginModule required username="ops" password="hunter2";'
SCRAM_LOGIN = 'ScramLoginModule required username="ops" password="hunter2";'
BY_SCRAM = OWN_SASL | {
    "sasl_enabled_mechanisms": "SCRAM-SHA-512",
    "sasl_mechanism_controller_protocol": "SCRAM-SHA-512",
}
THREE = "1@h1:9093,2@h2:9093,3@h3:9093"


def ids(answer):
    return [finding.id for finding in answer.findings]


def made(node, version="4.3.1", logins=(), **settings):
    """Return a formatted node with a static quorum; `logins` are lines that no keyword can write."""
    return with_lines(node(version).format(static=True, **settings), *logins)


def with_lines(node, *lines):
    node.file.write_text(node.file.read_text() + "".join(f"{line}\n" for line in lines))
    return node


def three_voters(node):
    node.file.write_text(node.file.read_text().replace("voters=1@localhost:9093", f"voters={THREE}"))
    return node


def scram_user(name="ops", mechanism=2):
    data = {
        "Name": name,
        "Mechanism": mechanism,
        "Salt": b"s",
        "StoredKey": b"k",
        "ServerKey": b"k",
        "Iterations": 4096,
    }
    return encode_record(metadata_record(11), 0, data)


def append(node, *records):
    node.started_once()
    path = node.path(f"d1/{SEGMENT}")
    path.write_bytes(path.read_bytes() + _batch([(None, record) for record in records], 4, 1))
    return node


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("listener.name.plaintext.plain.sasl.jaas.config", None),
        ("listener.name.PLAINTEXT.plain.sasl.jaas.config", "login-not-in-file"),
        ("listener.name.plaintext.PLAIN.sasl.jaas.config", "login-not-in-file"),
        ("plain.sasl.jaas.config", "login-not-in-file"),
        ("sasl.jaas.config", "login-not-in-file"),
    ],
)
def test_login_counts_only_in_the_key_of_its_listener_and_mechanism(node, key, found):
    answer = made(node, logins=[f"{key}={PLAIN_LOGIN}"], **CLIENT_SASL).verify()
    if found is None:
        assert answer.will_start and "login-not-in-file" not in ids(answer)
        return
    assert answer.will_start is None
    assert "listener.name.plaintext.plain.sasl.jaas.config" in one(answer, found).message


@pytest.mark.parametrize("text", [PLAIN_LOGIN.rstrip(";"), PLAIN_LOGIN * 2, "PlainLoginModule;"])
def test_login_that_is_not_one_module_ends_the_start_and_is_not_shown(node, text):
    answer = made(node, logins=[f"listener.name.plaintext.plain.sasl.jaas.config={text}"], **CLIENT_SASL).verify()
    assert answer.will_start is False
    assert answer.expected_failure.message == "JAAS config"
    assert "hunter2" not in one(answer, "login-unreadable").message


def test_each_enabled_mechanism_needs_a_login(node):
    settings = CLIENT_SASL | {"sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-256,X-OWN"}
    answer = made(node, logins=[f"listener.name.plaintext.plain.sasl.jaas.config={PLAIN_LOGIN}"], **settings).verify()
    assert [finding.evidence["key"] for finding in answer.findings if finding.id == "login-not-in-file"] == [
        "listener.name.plaintext.scram-sha-256.sasl.jaas.config"
    ]


@pytest.mark.parametrize(("version", "starts"), [("4.2.1", True), ("4.3.1", False), ("4.4.0", False)])
def test_validator_of_oauth_needs_the_url_of_the_keys(node, version, starts):
    package = "org.apache.kafka.common.security.oauthbearer"
    lines = [
        f"listener.name.plaintext.oauthbearer.sasl.server.callback.handler.class={package}.OAuthBearerValidatorCallbackHandler",
        f"listener.name.plaintext.oauthbearer.sasl.jaas.config={package}.OAuthBearerLoginModule required;",
        f"listener.name.plaintext.plain.sasl.jaas.config={PLAIN_LOGIN}",
        "sasl.oauthbearer.expected.audience=kafka",
        "sasl.oauthbearer.expected.issuer=https://idp.example",
    ]
    settings = CLIENT_SASL | {"sasl_enabled_mechanisms": "PLAIN,OAUTHBEARER"}
    answer = made(node, version, logins=lines, **settings).verify()
    assert answer.will_start is not False if starts else answer.will_start is False
    if not starts:
        assert answer.expected_failure.phase.word == "broker-services"
        assert '"sasl.oauthbearer.jwks.endpoint.url"' in one(answer, "oauth-setting-missing").message


OWN_LOGIN = [f"listener.name.controller.scram-sha-512.sasl.jaas.config={SCRAM_LOGIN}"]


def test_no_first_leader_is_elected_by_several_voters_with_scram(node):
    answer = three_voters(made(node, logins=OWN_LOGIN, **BY_SCRAM)).verify()
    assert answer.will_start is False and answer.expected_failure.waits
    assert "SCRAM-SHA-512" in one(answer, "scram-between-controllers").message


def test_voter_by_scram_whose_log_has_the_user_starts_with_a_warning(node):
    answer = three_voters(append(made(node, logins=OWN_LOGIN, **BY_SCRAM), scram_user())).verify()
    assert answer.will_start
    assert one(answer, "scram-between-controllers").severity.value == "warning"


@pytest.mark.parametrize(
    ("user", "will_start"), [(None, False), (("ops", 2), True), (("ops", 1), False), (("other", 2), False)]
)
def test_sole_combined_voter_by_scram_starts_if_its_user_is_in_the_log(node, user, will_start):
    records = [] if user is None else [scram_user(*user)]
    answer = append(made(node, logins=OWN_LOGIN, **BY_SCRAM), *(records or [scram_user("else", 1)])).verify()
    assert answer.will_start is will_start
    assert ("scram-user-missing" in ids(answer)) is not will_start


def test_sole_combined_voter_by_scram_starts_with_the_user_it_founds_the_cluster_with(node, tmp_path):
    users = tmp_path / "users"
    users.write_text("SCRAM-SHA-512=[name=ops,password=hunter2]\n")
    users.chmod(0o600)
    new = node("4.3.1").format("--scram-file", str(users), static=True, **BY_SCRAM)
    assert with_lines(new, *OWN_LOGIN).verify().will_start


def test_controller_alone_by_scram_starts(node):
    answer = made(node, logins=OWN_LOGIN, roles="controller", **BY_SCRAM).verify()
    assert answer.will_start and blocker_ids(answer) == []


def test_mechanism_that_the_controllers_do_not_offer_lets_no_leader_be_elected(node):
    settings = BY_SCRAM | {"sasl_mechanism_controller_protocol": "PLAIN"}
    logins = [*OWN_LOGIN, f"listener.name.controller.plain.sasl.jaas.config={PLAIN_LOGIN}"]
    answer = made(node, logins=logins, **settings).verify()
    assert blocker_ids(answer) == ["controller-mechanism-not-enabled"]
    assert answer.will_start is False


TIERED = {"remote_log_storage_system_enable": "true", "remote_log_metadata_manager_listener_name": "PLAINTEXT"}
STORE = {"remote_log_storage_manager_class_name": "org.example.Store"}


def test_tiered_storage_without_its_class_ends_a_broker(node):
    answer = made(node, **TIERED).verify()
    assert answer.will_start is False
    assert blocker_ids(answer) == ["tiered-storage-class-missing"]
    assert answer.expected_failure.phase.word == "broker-services"


def test_tiered_storage_is_nothing_to_a_controller(node):
    assert made(node, roles="controller", **TIERED).verify().will_start


@pytest.mark.parametrize(
    ("listener", "will_start"), [("PLAINTEXT", True), ("plaintext", True), ("CONTROLLER", False), ("NOPE", False)]
)
def test_metadata_listener_is_one_that_the_broker_advertises(node, listener, will_start):
    settings = TIERED | STORE | {"remote_log_metadata_manager_listener_name": listener}
    answer = made(node, **settings).verify()
    assert answer.will_start is will_start
    assert ("tiered-metadata-listener-unknown" in ids(answer)) is not will_start


@pytest.mark.parametrize(("version", "stops"), [("3.9.2", False), ("4.1.2", False), ("4.2.1", True), ("4.4.0", True)])
def test_missing_metadata_listener_stops_a_broker_from_42_on(node, version, stops):
    settings = STORE | {"remote_log_storage_system_enable": "true"}
    answer = made(node, version, **settings).verify()
    assert answer.will_start is not stops
    found = one(answer, "tiered-metadata-listener-missing")
    assert found.severity.value == ("blocker" if stops else "warning")
    own = settings | {"remote_log_metadata_manager_class_name": "org.example.Manager"}
    assert "tiered-metadata-listener-missing" not in ids(node(version).configure(static=True, **own).verify())


def test_topics_that_use_tiered_storage_are_named_where_it_is_off(node):
    setting = {"ResourceType": 2, "ResourceName": "orders", "Name": "remote.storage.enable", "Value": "true"}
    answer = append(made(node), encode_record(metadata_record(4), 0, setting)).verify()
    assert answer.will_start
    assert "orders" in one(answer, "tiered-topics-without-tiered-storage").message


MIGRATING = {"zookeeper_metadata_migration_enable": "true", "zookeeper_connect": "localhost:2181"}


def migration_state(value):
    return encode_record(metadata_record(21), 0, {"ZkMigrationState": value})


@pytest.mark.parametrize(("state", "will_start"), [(None, False), (0, False), (1, True), (3, True)])
def test_migration_flag_on_a_log_that_was_founded_without_it_ends_the_leader(node, state, will_start):
    records = [scram_user()] if state is None else [migration_state(state)]
    ran = append(made(node, "3.9.2", roles="controller"), *records)
    ran.configure(static=True, roles="controller", **MIGRATING)
    answer = ran.verify()
    assert answer.will_start is will_start
    assert ("migration-flag-after-founding" in ids(answer)) is not will_start


def test_migration_flag_before_the_founding_is_what_a_migration_needs(node):
    assert made(node, "3.9.2", roles="controller", **MIGRATING).verify().will_start


def test_migration_flag_on_one_of_several_voters_leaves_open_who_is_elected(node):
    ran = append(made(node, "3.9.2", roles="controller"), migration_state(0))
    answer = three_voters(ran.configure(static=True, roles="controller", **MIGRATING)).verify()
    assert answer.will_start is None
    assert blocker_ids(answer) == ["migration-flag-after-founding"]


@pytest.mark.parametrize(("roles", "will_start"), [("broker", True), ("controller", False)])
def test_recorded_kraft_version_stops_a_controller_of_37_and_no_broker(node, roles, will_start):
    record = encode_record(metadata_record(12), 0, {"Name": "kraft.version", "FeatureLevel": 1})
    ran = append(made(node, "3.7.2", roles=roles), record)
    if roles == "broker":  # of which the helper's file names another voter
        ran.path("d1/__cluster_metadata-0/quorum-state").unlink()
    answer = ran.verify()
    assert answer.will_start is will_start
    assert ("unsupported-feature-level" in ids(answer)) is not will_start
