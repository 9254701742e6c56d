"""Rules by which a release judges a configuration: schemas/config/rules.toml as values."""

from __future__ import annotations

import functools

from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.release_table import ReleaseTable, Version, read_release_table
from kafkactl.storage.config.keys import ReadingRules


@frozen
class ConfigRules:
    """Differences between releases that no key of the configuration shows.

    Listeners
      port_shared_by_ip_versions: one listener on IPv4 and one on IPv6 may have the same port.
      overlooks_text_before_host: `x/host:9093` is read as `host:9093`.
      advertises_controllers: advertised.listeners may name controller listeners.
      inter_broker_listener_apart: a listener between brokers that is named must not be one of the controllers'.
      controller_names_trimmed: blanks around a name in controller.listener.names do not belong to it.
      listener_names_unique: a name may appear once in the protocol map, given or made.

    Addresses of voters
      voters_must_be_routable: a node ends at its start if a voter in controller.quorum.voters has the host 0.0.0.0.

    Settings that must fit each other
      tiered_storage_needs_one_directory: tiered storage is refused with several log directories.
      heartbeat_within_session: the heartbeat interval of a group must be shorter than its session timeout.

    Login by OAuth
      oauth_needs_keys: a listener whose tokens Kafka validates needs the URL of the keys.
      oauth_needs_claims: it needs the expected audience and issuer, unless the file allows any.
    """

    port_shared_by_ip_versions: bool
    tiered_storage_needs_one_directory: bool
    overlooks_text_before_host: bool
    advertises_controllers: bool
    inter_broker_listener_apart: bool
    heartbeat_within_session: bool
    controller_names_trimmed: bool
    listener_names_unique: bool
    voters_must_be_routable: bool
    oauth_needs_keys: bool
    oauth_needs_claims: bool


def config_rules(release: Release) -> ConfigRules:
    """Return the rules of a release."""
    return _at(release.numbers)


def reading_rules(release: Release) -> ReadingRules:
    """Return the rules of the release for single values."""
    overlooks = config_rules(release).overlooks_text_before_host
    return ReadingRules(
        anything_before_host=overlooks,
        newest_level=release.testing_level,
        newest_stable_level=release.production_level,
        release=release.name,
    )


@functools.cache
def _at(version: Version) -> ConfigRules:
    return ConfigRules(**_table().at(version))


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("config/rules.toml", ConfigRules.__annotations__)
