"""Plan of a bundle's parts."""

from __future__ import annotations

from kafkactl.bundle.parts import NamedParts, plan_parts


def names(**named: object) -> list[str]:
    return [part.name for part in plan_parts(NamedParts(**named))]  # type: ignore[arg-type]


def test_parts_are_listed_for_nodes_of_this_host() -> None:
    assert names(configs=("a", "b", "a"), logs=("c",)) == [
        "config-1", "storage.info-1", "storage.verify-1", "config-2", "storage.info-2", "storage.verify-2",
        "log-1", "log-2", "log-3", "log.verify", "versions",
    ]  # fmt: skip


def test_live_cluster_is_asked_before_its_log_is_fetched() -> None:
    assert names(has_cluster=True) == ["quorum.describe", "features.describe", "nodes.list", "log-1", "log.verify",
                                       "versions"]  # fmt: skip


def test_parts_are_listed_for_migration_and_tiered_storage() -> None:
    assert names(has_migration=True, has_tiered=True) == ["migrate.observe", "tiered.audit", "versions"]
    assert NamedParts().is_nothing and not NamedParts(has_tiered=True).is_nothing


def test_parts_say_what_they_are_about() -> None:
    parts = plan_parts(NamedParts(configs=("/etc/a",)))
    assert parts[0].about.endswith("(/etc/a)")
    assert [part.is_config for part in parts if part.kind.word == "log"] == [True]
