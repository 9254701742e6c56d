"""`kafkactl dryrun`: every scenario on a log that a generator wrote, and what cannot be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.log_generator import Expected, Shape
from bench.make_metadata_log import write_log
from kafkactl.dryrun.page.titles import title_of
from tests.conftest import Run
from tests.metadata.goldens import golden

Kafkactl = Callable[..., Run]
SEGMENT = golden("segment-4.4.0-standalone.log.bin")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Expected]:
    folder = tmp_path_factory.mktemp("generated") / "log"
    return folder, write_log(folder, Shape(records=2_000, partitions=200, brokers=4))


@pytest.fixture
def log(generated: tuple[Path, Expected]) -> Path:
    return generated[0] / "__cluster_metadata-0"


def predicted(kafkactl: Kafkactl, *arguments: object) -> tuple[int, dict]:
    run = kafkactl("dryrun", *arguments, "-o", "json")
    return run.code, run.json


def test_log_is_replayed(kafkactl: Kafkactl, log: Path, generated: tuple[Path, Expected]) -> None:
    code, answer = predicted(kafkactl, "replay", log)
    expected = generated[1]
    assert (code, answer["verdict"]) == (0, "ok")
    assert answer["effects"]["counts"] == expected.by_type
    assert answer["source"]["last_offset"] == expected.last_offset
    assert answer["effects"]["state"]["partitions"] == expected.state["partition_count"]
    _, early = predicted(kafkactl, "replay", log, "--at", 100)
    assert early["source"]["last_offset"] == 100


@pytest.mark.slow
def test_broker_loss_is_predicted(kafkactl: Kafkactl, log: Path) -> None:
    code, answer = predicted(kafkactl, "broker-loss", log, "--brokers", "1,2", "--records")
    assert (code, answer["verdict"]) == (7, "unavailable")
    effects = answer["effects"]
    appended = effects["records_appended"]
    assert appended["count"] == len(appended["records"]) == sum(appended["by_type"].values())
    assert appended["records"][0]["offset"] == answer["source"]["last_offset"] + 1
    assert effects["changes_total"] >= len(effects["changes"]) > 0
    assert any(not change["certain"] and len(change["alternatives"]) > 1 for change in effects["changes"])
    _, ordered = predicted(kafkactl, "broker-loss", log, "--brokers", "1,2", "--in-order", "--mode", "controlled")
    assert all(change["certain"] for change in ordered["effects"]["changes"])


@pytest.mark.slow
def test_worst_loss_is_found(kafkactl: Kafkactl, log: Path) -> None:
    code, answer = predicted(kafkactl, "broker-loss", log, "--worst", 2)
    worst = answer["effects"]["worst"]
    assert (code, answer["effects"]["sets"], len(worst)) == (7, 6, 6)
    brokers = ",".join(str(broker) for broker in worst[0]["brokers"])
    _, prediction = predicted(kafkactl, "broker-loss", log, "--brokers", brokers)
    assert prediction["effects"]["partitions"] == answer["effects"]["partitions"]


@pytest.mark.parametrize(
    "arguments, codes",
    [
        (["rolling-restart"], {0, 7}),
        (["rolling-restart", "--order", "3,1"], {0, 7}),
        (["broker-return", "--brokers", "1"], {0}),
        (["unregister-broker", "--broker", "1"], {7}),
        (["unregister-broker", "--broker", "77"], {3}),
        (["elect-leaders", "--type", "preferred"], {0}),
        (["elect-leaders", "--type", "unclean", "--topic", "nobody"], {3}),
        (["alter-config", "--entity", "cluster", "--set", "min.insync.replicas=2"], {0}),
        (["alter-config", "--entity", "broker:1", "--set", "min.insync.replicas=2"], {3}),
        (["features", "--upgrade", "metadata.version=31"], {3}),
        (["features", "--downgrade", "metadata.version=29"], {3}),
        (["features", "--upgrade", "group.version=1"], {3}),
        (["controllers", "--lose", "1001"], {0}),
        (["controllers", "--lose", "1001", "--simulate", "1"], {0}),
        (["controllers", "--lose", "1001,1002"], {7}),
        (["controllers", "--down", "1002", "--remove", "1001"], {3}),
        (["growth", "--days", "10"], {0}),
        (["restart"], {0}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_scenario_answers(kafkactl: Kafkactl, log: Path, arguments: list[str], codes: set[int]) -> None:
    scenario, *options = arguments
    code, answer = predicted(kafkactl, scenario, log, *options)
    assert code in codes, answer["findings"]
    assert answer["scenario"] == scenario
    page = kafkactl("dryrun", scenario, log, *options)
    assert page.code == code
    assert page.stdout.splitlines()[0] == f"{title_of(answer)}: {answer['verdict']}"


@pytest.mark.slow
def test_earlier_answer_can_be_simulated_first(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    run = kafkactl("dryrun", "broker-loss", log, "--brokers", "1", "-o", "json")
    earlier = tmp_path / "loss.json"
    earlier.write_text(run.stdout)
    _, answer = predicted(kafkactl, "broker-return", log, "--brokers", "1", "--after", earlier)
    assert [earlier["scenario"] for earlier in answer["after"]] == ["broker-loss"]
    assert "broker-not-gone" not in {finding["id"] for finding in answer["findings"]}
    second = tmp_path / "return.json"
    second.write_text(json.dumps(answer))
    _, third = predicted(kafkactl, "broker-loss", log, "--brokers", "1", "--after", second)
    assert [earlier["scenario"] for earlier in third["after"]] == ["broker-loss", "broker-return"]
    toml = tmp_path / "plan.toml"
    toml.write_text('[[scenario]]\nname = "broker-loss"\nbrokers = [1]\n')
    _, again = predicted(kafkactl, "broker-return", log, "--brokers", "1", "--after", toml)
    assert again["effects"] == answer["effects"]


def test_answer_with_the_old_names_of_fields_is_still_simulated(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    arguments = ("--brokers", "1", "--records", "-o", "json")
    answer = json.loads(kafkactl("dryrun", "broker-loss", log, *arguments).stdout)
    records = answer["effects"]["records_appended"]["records"]
    assert "brokerEpoch" in {name for record in records for name in record["data"]}
    for record in records:  # as they were printed before they had the names of Kafka's JSON
        record["data"] = {name[0].upper() + name[1:]: value for name, value in record["data"].items()}
    earlier = tmp_path / "loss.json"
    earlier.write_text(json.dumps(answer))
    code, prediction = predicted(kafkactl, "broker-return", log, "--brokers", "1", "--after", earlier)
    assert code == 0, prediction["findings"]
    assert [earlier["scenario"] for earlier in prediction["after"]] == ["broker-loss"]


def test_reassignment_plan_is_predicted(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": "topic-0000000", "partition": 0, "replicas": [3]}]}))
    code, answer = predicted(kafkactl, "reassignment", log, "--plan", plan)
    assert code in (0, 7)
    assert answer["effects"]["results"][0]["error_code"] == 0


def test_records_are_what_the_log_would_hold(kafkactl: Kafkactl, log: Path) -> None:
    asked = ["alter-config", log, "--entity", "cluster", "--set", "ssl.keystore.password=hunter2"]
    _, answer = predicted(kafkactl, *asked)
    record = kafkactl(
        "dryrun", "alter-config", log, "--entity", "cluster", "--set", "ssl.keystore.password=geheim", "--records",
        "-o", "json",
    )  # fmt: skip
    assert answer["effects"]["records_appended"]["by_type"] == {"ConfigRecord": 1}
    assert "geheim" not in json.dumps(record.json["effects"])


def test_static_settings_and_release_replace_assumptions(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    config = tmp_path / "controller.properties"
    config.write_text("unclean.leader.election.enable=true\n")
    _, answer = predicted(
        kafkactl, "broker-loss", log, "--brokers", "1", "--config", config, "--kafka-version", "4.0.2"
    )
    assert "unclean-leader" in {finding["id"] for finding in answer["findings"]}
    assert not any("--config" in text for text in answer["assumptions"])


def test_log_of_a_real_node_is_predicted(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # A standalone node of 4.4.0: losing its one voter ends the quorum.
    log = tmp_path / "__cluster_metadata-0"
    log.mkdir()
    (log / "00000000000000000000.log").write_bytes(SEGMENT)
    code, answer = predicted(kafkactl, "replay", log)
    assert (code, answer["effects"]["state"]["controllers"]) == (0, 1)
    node = answer_voter(kafkactl, log)
    assert predicted(kafkactl, "controllers", log, "--lose", node)[0] == 7


def answer_voter(kafkactl: Kafkactl, log: Path) -> int:
    _, answer = predicted(kafkactl, "controllers", log)
    return int(answer["effects"]["voters"]["before"][0])


def test_damaged_log_makes_nothing_certain(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    data = bytearray((log / "00000000000000000000.log").read_bytes())
    data[len(data) // 2] ^= 1
    broken = tmp_path / "__cluster_metadata-0"
    broken.mkdir()
    (broken / "00000000000000000000.log").write_bytes(bytes(data))
    code, answer = predicted(kafkactl, "replay", broken)
    assert (code, answer["verdict"]) == (6, "unknown")
    assert "damaged-log" in {finding["id"] for finding in answer["findings"]}


@pytest.mark.parametrize(
    "arguments, error",
    [
        (["broker-loss", "--brokers", "77"], "unknown-broker"),
        (["broker-loss", "--worst", "9"], "too-few-brokers"),
        (["replay", "--at", "9999999"], "offset-not-in-log"),
        (["broker-loss", "--brokers", "1", "--master", "spark://nowhere"], "invalid-spark-master"),
        (["alter-config", "--entity", "x", "--set", "a=b"], "unknown-entity"),
        (["elect-leaders", "--topic", "a:b"], "invalid-partition-name"),
        (["controllers", "--remove", "x"], "invalid-voter-change"),
        (["broker-loss", "--brokers", "1", "--after", "/nowhere"], "input-file-unreadable"),
        (["broker-loss", "--brokers", "1", "--kafka-version", "1.0"], "unknown-kafka-version"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_invalid_scenario_arguments_are_refused(
    kafkactl: Kafkactl, log: Path, arguments: list[str], error: str
) -> None:
    scenario, *options = arguments
    run = kafkactl("dryrun", scenario, log, *options, "-o", "json")
    assert (run.code, run.error["id"]) == (2, error)


@pytest.mark.parametrize(
    "text, error",
    [
        ("{}", "invalid-after-file"),
        ("[", "invalid-after-file"),
        ('{"scenario": "storm", "input": {}}', "unknown-scenario"),
        ('{"scenario": "broker-loss", "input": {}}', "invalid-scenario-input"),
    ],
)
def test_invalid_files_of_scenarios_are_refused(
    kafkactl: Kafkactl, log: Path, tmp_path: Path, text: str, error: str
) -> None:
    file = tmp_path / "earlier.json"
    file.write_text(text)
    run = kafkactl("dryrun", "replay", log, "--after", file, "-o", "json")
    assert (run.code, run.error["id"]) == (2, error)


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("a.toml", "x = [", "Invalid value (at end of document)"),
        ("a.toml", "", "there is no table [[scenario]] in it"),
        ("a.toml", "[scenario]\nname = 'replay'", "there is no table [[scenario]] in it"),
        ("a.toml", "[[scenario]]\nname = 'growth'\n[[scenario]]\nbrokers = [1]", "table 2 of [[scenario]] has no name"),
        ("a.json", '{"kind": "dryrun.report", "after": []}', "it is not the answer of one scenario on one cluster"),
        ("a.json", "[1]", "it is not the answer of one scenario on one cluster"),
    ],
)
def test_invalid_file_of_scenarios_is_refused_with_the_reason(
    kafkactl: Kafkactl, log: Path, tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text)
    run = kafkactl("dryrun", "replay", log, "--after", tmp_path / name, "-o", "json")
    assert (run.code, run.error["message"]) == (2, f"{tmp_path / name} holds no scenarios: {expected}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["broker-loss"],
        ["broker-loss", "--brokers", "1", "--worst", "2"],
        ["broker-loss", "--brokers", "one"],
        ["broker-loss", "--worst", "1", "--mode", "controlled"],
        ["broker-loss", "--worst", "1", "--in-order"],
        ["rolling-restart", "--order", "1,x"],
        ["alter-config", "--entity", "cluster"],
        ["alter-config", "--entity", "cluster", "--set", "a=1", "--delete", "a"],
        ["alter-config", "--entity", "cluster", "--set", "a"],
        ["features"],
        ["features", "--upgrade", "group.version=1", "--disable", "share.version"],
        ["controllers", "--lose", "1", "--remove", "2"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_refused(kafkactl: Kafkactl, log: Path, arguments: list[str]) -> None:
    scenario, *options = arguments
    run = kafkactl("dryrun", scenario, log, *options, "-o", "json")
    assert (run.code, run.error["id"]) in [(2, "wrong-usage"), (2, "invalid-option-value")]
    assert "'--order'" in run.error["message"] or scenario != "rolling-restart"


def test_invalid_number_of_a_setting_is_reported_as_assumption(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    for value, expected in (("two", True), ("+2", False)):
        (tmp_path / "server.properties").write_text(f"min.insync.replicas={value}\n")
        _, answer = predicted(
            kafkactl, "broker-loss", log, "--brokers", "1", "--config", tmp_path / "server.properties"
        )
        assert ("min.insync.replicas in the properties file is not a number" in str(answer["assumptions"])) is expected
