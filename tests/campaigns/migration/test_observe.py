"""A real cluster observed in its phases: what is seen is what is; saved and read it is the same, without a secret."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.core.frozen import changed
from kafkactl.metadata.io.source import open_source
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.observe import observe
from kafkactl.migration.io.saved_observation import CapturedMigration, load_observation, log_facts_of, observation_from
from kafkactl.migration.observed.observation import Mode, Observation
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.configs import ENCODER_SECRET, TOKEN_SECRET
from tests.secrets_scan import leaks

pytestmark = pytest.mark.timeout(900)


def inventory_text(cluster: MigrationCluster) -> str:
    """Return the inventory as an operator on the nodes' own machine would write it."""
    lines = ["[zookeeper]", f'connect = "{cluster.connect}"', "[hooks]", 'template = "local"']
    places = [("broker", id, ports[0]) for id, ports in cluster.plan.brokers.items()]
    places += [("controller", id, port) for id, port in cluster.plan.controllers.items()]
    for role, id, port in places:
        lines += ["[[nodes]]", f"id = {id}", f'role = "{role}"', f'address = "127.0.0.1:{port}"']
        lines.append(f'config = "{cluster.config_file(id)}"')
    return "\n".join(lines)


def inventory_of(cluster: MigrationCluster) -> Inventory:
    return parse_inventory(inventory_text(cluster), file=str(cluster.workdir / "migration.toml"))


def seen(cluster: MigrationCluster, state: str) -> tuple[CapturedMigration, Observation]:
    captured = observe(inventory_of(cluster), timeout_ms=60_000)
    observation = observation_from(captured)
    folder = cluster.workdir / "observations" / state
    save_observation(str(folder / "whole"), captured, include_secrets=True)
    save_observation(str(folder / "shown"), captured)
    assert load_observation(str(folder / "whole")) == observation
    return captured, observation


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("observe")


@pytest.fixture(scope="module")
def observed(folder: Path) -> Iterator[dict[str, Observation]]:
    """Observe M0, M4L, M6 and M7 of one cluster of two brokers."""
    found = {}
    with MigrationCluster("3.9.2", folder, brokers=2, broker_settings={"ssl.key.password": "hunter2"}) as cluster:
        cluster.reach("M0")
        cluster.fill()
        other = changed(inventory_of(cluster), cluster_id="another-cluster-id-xyz")
        raw = observe(other, timeout_ms=60_000, with_logs=False).raw
        assert "zookeeper-of-another-cluster" in [finding.id for finding in raw.findings]
        for state in ("M0", "M4L", "M6", "M7"):
            cluster.reach(state)
            found[state] = seen(cluster, state)[1]
        log = log_facts_of(open_source(str(cluster.metadata_log())))
        fetched = found["M7"].logs[3001]
        assert fetched.registrations == log.registrations
        assert changed(fetched, high_watermark=None).migration_states == log.migration_states
        yield found


def modes(observation: Observation) -> list[Mode | None]:
    return [node.mode for node in observation.nodes]


def test_each_phase_is_observed_with_its_modes(observed: dict[str, Observation]):
    assert modes(observed["M0"]) == [Mode.ZK, Mode.ZK, None]
    assert modes(observed["M4L"]) == [Mode.MIGRATING, Mode.ZK, Mode.KRAFT]
    assert modes(observed["M6"]) == [Mode.MIGRATING, Mode.MIGRATING, Mode.KRAFT]
    assert modes(observed["M7"]) == [Mode.KRAFT, Mode.MIGRATING, Mode.KRAFT]


def test_four_witnesses_of_a_broker_are_observed(observed: dict[str, Observation]):
    # zk-migration-measured 7.1: znode, record, tag, observer.
    for state, entered in (("M4L", {1}), ("M6", {1, 2})):
        found = observed[state]
        assert found.tree is not None
        assert found.log is not None
        assert found.quorum is not None
        assert found.tree.children("/brokers/ids") == ("1", "2")
        assert {id for id, registration in found.log.registrations.items() if registration.migrating} == entered
        ready = {
            broker.id for broker in found.brokers if broker.api_versions and broker.api_versions.zk_migration_ready
        }
        assert ready == entered
        assert {observer.id for observer in found.quorum.observers} == entered
        assert all(broker.quorum is not None and broker.quorum.closed for broker in found.brokers)


def test_cluster_is_observed_before_and_after_the_copy(observed: dict[str, Observation]):
    first = observed["M0"]
    assert first.log is None
    assert [node.alive for node in first.nodes] == [True, True, False]
    assert {finding.id for finding in first.findings} == {"node-not-observed"}
    before, after = observed["M4L"].log, observed["M6"].log
    assert before is not None
    assert after is not None
    assert (before.migration_state, before.copy_begin) == (2, None)
    assert after.migration_state == 1
    assert after.copy_begin is not None
    assert after.copy_end is not None
    assert after.controllers[3001].zk_migration_ready
    assert after.high_watermark is not None
    assert after.high_watermark >= after.copy_end
    last = observed["M7"].log
    assert last is not None
    assert not last.registrations[1].migrating
    assert last.registrations[1].ever_migrating


def test_configurations_and_disks_are_observed(observed: dict[str, Observation]):
    for state in ("M0", "M6"):
        broker = observed[state].node(1)
        assert broker is not None
        assert (broker.config or {})["broker.id"] == "1"
        assert (broker.meta_properties or {})["broker.id"] == "1"
        assert broker.kafka_version == "3.9"
    controller = observed["M6"].node(3001)
    assert controller is not None
    assert (controller.meta_properties or {})["node.id"] == "3001"
    assert controller.kafka_version == "3.9"


def test_redacted_one_holds_no_secret(observed: dict[str, Observation], folder: Path):
    tree, log = observed["M6"].tree, observed["M6"].log
    assert tree is not None
    assert log is not None
    secrets = {ENCODER_SECRET.encode(), TOKEN_SECRET.encode()}
    for credential in log.image.scram.values():
        secrets |= {credential.salt, credential.stored_key, credential.server_key}
    assert len(secrets) > 3
    secrets |= {base64.b64encode(secret) for secret in secrets}
    for path in sorted(folder.glob("observations/*/shown/**/*")):
        if path.is_file():
            data = path.read_bytes()
            content = gzip.decompress(data) if path.suffix == ".gz" else data
            assert not leaks(content), path
            assert not [secret for secret in secrets if secret in content], path
            assert b"encryptedPassword" not in content
    for state, whole in observed.items():
        shown = load_observation(str(folder / "observations" / state / "shown"))
        assert modes(shown) == modes(whole)
        assert [finding.id for finding in shown.findings] == [finding.id for finding in whole.findings]
        assert shown.tree is not None
        assert whole.tree is not None
        assert set(shown.tree.znodes) == set(whole.tree.znodes)
