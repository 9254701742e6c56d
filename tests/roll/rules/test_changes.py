"""Settings that lose or change their effect under another release (kafkactl.roll.rules.changes)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import tomli

from kafkactl.core.data_files import read_data
from kafkactl.protocol.catalog.releases import find_release, release_names
from kafkactl.roll.rules.changes import ChangedDefault, changed_defaults, ignored_settings, ignored_topic_settings
from kafkactl.storage.config.keys import server_keys, topic_keys
from tests.roll.rules.refusal_rows import REMOVED

TABLE = tomli.loads(read_data("config/changes.toml").decode())


def changed(old: str, new: str, properties: Mapping[str, str]) -> dict[str, ChangedDefault]:
    """Return the changed defaults by key."""
    return {found.key: found for found in changed_defaults(find_release(old), find_release(new), properties)}


@pytest.mark.parametrize("key", REMOVED)
def test_removed_key_is_ignored_from_4_0_on(key: str) -> None:
    names = [name for name in release_names() if ignored_settings(find_release(name), {key: "1"})]
    assert [name for name in names if name.startswith("4.")] == ["4.0", "4.1", "4.2", "4.3", "4.4"]
    assert "3.9" not in names


def test_key_that_kafka_never_had_is_not_ignored() -> None:
    assert ignored_settings(find_release("4.4"), {"my.plugin.key": "1"}) == []


def test_key_of_a_newer_release_is_ignored_under_an_older_release() -> None:
    (cordoned,) = ignored_settings(find_release("4.2"), {"cordoned.log.dirs": "*"})
    assert (cordoned.known_from, cordoned.known_to) == ("4.3", "4.4")
    assert cordoned.effect is not None and cordoned.replaced_by == ()
    (cache,) = ignored_settings(find_release("4.2"), {"remote.log.index.file.cache.ttl.ms": "1"})
    assert cache.effect is None


def test_secret_of_an_ignored_key_is_redacted() -> None:
    (found,) = ignored_settings(find_release("4.0"), {"delegation.token.master.key": "hunter2"})
    assert found.value == "<redacted>"
    assert found.effect is not None


def test_replaced_key_has_no_effect_if_the_file_sets_its_replacement() -> None:
    file = {"delegation.token.master.key": "a", "delegation.token.secret.key": "a"}
    assert [found.effect for found in ignored_settings(find_release("4.0"), file)] == [None]
    difference = {"log.message.timestamp.difference.max.ms": "5", "log.message.timestamp.after.max.ms": "5"}
    assert [found.effect is None for found in ignored_settings(find_release("4.0"), difference)] == [False]


def test_limit_of_future_timestamps_changes_between_3_9_and_4_0() -> None:
    found = changed("3.9", "4.0", {})["log.message.timestamp.after.max.ms"]
    assert (found.before, found.after) == (str(2**63 - 1), "3600000")
    assert "log.message.timestamp.after.max.ms" not in changed("4.0", "4.4", {})
    assert "log.message.timestamp.after.max.ms" not in changed("3.9", "4.0", {found.key: "5"})


def test_limit_of_both_directions_replaces_the_limit_of_future_timestamps() -> None:
    key, difference = "log.message.timestamp.after.max.ms", "log.message.timestamp.difference.max.ms"
    assert changed("3.9", "4.0", {difference: "60000"})[key].before == "60000"
    assert key not in changed("3.9", "4.0", {difference: "3600000"})


def test_jmx_metrics_are_lost_if_reporters_are_named_without_the_jmx_reporter() -> None:
    key, jmx = "auto.include.jmx.reporter", "org.apache.kafka.common.metrics.JmxReporter"
    found = changed("3.3", "4.0", {"metric.reporters": "com.example.Reporter"})[key]
    assert (found.before, found.after) == ("true", None)
    assert key not in changed("3.9", "4.0", {"metric.reporters": f"com.example.Reporter,{jmx}"})
    assert key not in changed("3.9", "4.0", {})
    assert key not in changed("4.0", "4.4", {"metric.reporters": "com.example.Reporter"})


def test_urls_of_oauth_have_to_be_allowed_from_4_0_on() -> None:
    key = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
    file = {"listener.name.external.sasl.oauthbearer.jwks.endpoint.url": "https://idp.example/keys"}
    found = changed("3.9", "4.0", file)[key]
    assert (found.before, found.after) == ("every URL", None)
    assert "KAFKA_OPTS" in found.effect
    assert key in changed("3.9", "4.0", {**file, "process.roles": "controller"})
    assert key not in changed("3.9", "4.0", {})
    assert key not in changed("4.0", "4.4", file)


def test_threads_of_tiered_storage_are_reported_only_with_tiered_storage() -> None:
    key = "remote.log.manager.thread.pool.size"
    assert key not in changed("3.9", "4.0", {})
    found = changed("3.9", "4.0", {"remote.log.storage.system.enable": "true"})[key]
    assert (found.before, found.after) == ("10", "2")


def test_defaults_of_brokers_do_not_matter_to_a_controller() -> None:
    assert changed("3.9", "4.4", {"process.roles": "controller"}) == {}
    assert "num.recovery.threads.per.data.dir" in changed("3.9", "4.4", {"process.roles": "broker,controller"})


def test_several_changes_of_one_default_are_one() -> None:
    found = changed("3.9", "4.4", {})["group.coordinator.rebalance.protocols"]
    assert (found.before, found.after) == ("classic", "classic,consumer,streams")
    assert "KIP-848" in found.effect and "KIP-1071" in found.effect


def test_no_default_changes_in_a_restart_or_on_the_way_down() -> None:
    assert changed("3.9", "3.9", {}) == {}
    assert changed("4.4", "3.9", {}) == {}


def removed_keys() -> set[str]:
    """Return the keys that an earlier release has and the newest does not."""
    newest = server_keys(release_names()[-1])
    return {key for name in release_names() for key in server_keys(name) if key not in newest}


def changed_in(name: str) -> set[str]:
    """Return the keys that the release and the one before it have with different defaults."""
    before = server_keys(release_names()[release_names().index(name) - 1])
    found = server_keys(name).items()
    return {key for key, setting in found if key in before and setting.default != before[key].default}


def test_each_removed_key_is_harmless_or_has_an_effect() -> None:
    assert set(TABLE["harmless_removals"]) | set(TABLE["ignored"]) == removed_keys()
    assert not set(TABLE["harmless_removals"]) & set(TABLE["ignored"])
    assert all(row["effect"] for row in TABLE["ignored"].values())


def test_each_changed_default_is_harmless_or_has_an_effect() -> None:
    changes = {f"{key}@{name}" for name in release_names()[1:] for key in changed_in(name)}
    listed = {f"{row['key']}@{row['from']}" for row in TABLE["changed"] if not row.get("is_property")}
    removed_default = {"auto.include.jmx.reporter@4.0"}  # The release has no such key.
    assert changes == set(TABLE["harmless_defaults"]) | (listed - removed_default)


def test_each_newer_key_with_an_effect_is_missing_in_the_oldest_release() -> None:
    oldest = server_keys(release_names()[0])
    assert not set(TABLE["not_yet"]) & set(oldest)
    assert set(TABLE["not_yet"]) <= set(server_keys(release_names()[-1]))


@pytest.mark.parametrize("key", ["message.format.version", "message.downconversion.enable"])
def test_removed_key_of_a_topic_is_ignored_from_4_0_on(key: str) -> None:
    names = [name for name in release_names() if ignored_topic_settings(find_release(name), {key: "1"})]
    assert names == ["4.0", "4.1", "4.2", "4.3", "4.4"]


def test_newer_key_of_a_topic_is_not_reported_by_an_older_release() -> None:
    assert ignored_topic_settings(find_release("3.9"), {"remote.copy.lag.ms": "1"}) == []


def test_each_ignored_key_of_topics_was_removed() -> None:
    assert set(TABLE["ignored_topic"]) <= {
        key for key in topic_keys("3.9") if key not in topic_keys(release_names()[-1])
    }
