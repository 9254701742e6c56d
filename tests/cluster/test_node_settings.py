from __future__ import annotations

import pytest

from kafkactl.cluster.node import NotAsked
from kafkactl.cluster.node_settings import (
    DEFAULT_SOURCE,
    Kind,
    NodeSettings,
    difference_findings,
    differences,
    node_settings,
    of_answer,
    of_file,
)
from kafkactl.cluster.settings_verdict import verdict_of
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import find_release

B, C = Role.BROKER, Role.CONTROLLER


def broker(id: int = 1, **given: str) -> NodeSettings:
    return of_file(_keys(given), id=id, role=B)


def controller(id: int = 3001, **given: str) -> NodeSettings:
    return of_file(_keys(given), id=id, role=C)


def _keys(given: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in given.items()}


def found(*nodes: NodeSettings) -> dict[str, tuple[Kind, ...]]:
    return {difference.setting.key: difference.kinds for difference in differences(nodes)}


def config_entry(key: str, *sources: tuple[int, str]) -> dict[str, object]:
    synonyms = [{"Name": key, "Value": value, "Source": source} for source, value in sources]
    return {"Name": key, "Value": sources[0][1], "ConfigSource": sources[0][0], "Synonyms": synonyms}


class TestTheTable:
    def test_every_row_is_whole(self) -> None:
        rows = node_settings()
        assert len({row.key for row in rows}) == len(rows) > 25
        for row in rows:
            assert row.type in {"int", "bool", "text", "class", "principals"}, row.key
            assert row.canonical(row.default) == row.default, row.key
            assert bool(row.controller) == row.controllers and bool(row.broker) == row.brokers, row.key
            assert row.worse in ("", "lower", "true")

    def test_settings_that_controllers_decide_are_carried_over(self) -> None:
        carried = {setting.key for setting in node_settings() if setting.carried_over}
        assert {
            "default.replication.factor", "num.partitions", "min.insync.replicas", "unclean.leader.election.enable",
            "delete.topic.enable", "create.topic.policy.class.name", "alter.config.policy.class.name",
            "message.max.bytes", "auto.leader.rebalance.enable",
        } <= carried  # fmt: skip
        assert not {"auto.create.topics.enable", "broker.session.timeout.ms", "super.users"} & carried


class TestDifferences:
    def test_equal_nodes_have_none(self) -> None:
        assert found(broker(num_partitions="3"), controller(num_partitions=" 3 ")) == {}
        assert found(broker(), controller(unclean_leader_election_enable="FALSE")) == {}

    def test_default_differs_from_a_value_that_both_roles_read(self) -> None:
        assert found(broker(), controller(num_partitions="3")) == {"num.partitions": (Kind.ROLES,)}
        assert found(broker(num_partitions="3"), controller()) == {"num.partitions": (Kind.ROLES,)}

    def test_broker_that_does_not_read_it_may_leave_it_out(self) -> None:
        key = "unclean.leader.election.enable"
        assert found(broker(), controller(unclean_leader_election_enable="true")) == {}
        assert found(broker(unclean_leader_election_enable="true"), controller()) == {key: (Kind.ROLES,)}

    def test_settings_of_controllers_are_compared(self) -> None:
        two = (controller(1, delete_topic_enable="false"), controller(2))
        assert found(*two) == {"delete.topic.enable": (Kind.CONTROLLERS,)}
        assert found(*two, broker(delete_topic_enable="true")) == {"delete.topic.enable": (Kind.CONTROLLERS,)}

    def test_brokers_are_compared_for_settings_that_brokers_read(self) -> None:
        brokers = (broker(1, delete_topic_enable="true", num_partitions="2"), broker(2))
        assert found(*brokers, controller(num_partitions="2")) == {"num.partitions": (Kind.ROLES, Kind.BROKERS)}

    def test_setting_of_brokers_in_a_controllers_file_is_not_read(self) -> None:
        (difference,) = differences((broker(), controller(auto_create_topics_enable="false")))
        assert (difference.kinds, difference.matters) == ((Kind.UNREAD,), False)

    def test_synonyms_are_the_same_setting(self) -> None:
        assert found(broker(log_retention_hours="2"), controller(log_retention_ms="7200000")) == {}
        assert "log.retention.ms" in found(broker(log_retention_hours="2", log_retention_ms="5"), controller())

    def test_hidden_or_external_setting_is_unknown(self) -> None:
        assert found(broker(num_partitions="${file:/a:b}"), controller(num_partitions="3")) == {}
        hidden = of_file({"num.partitions": "<redacted>"}, id=1, role=B, hidden=lambda text: text.startswith("<"))
        assert found(hidden, controller(num_partitions="3")) == {}

    def test_super_users_are_a_set(self) -> None:
        assert found(broker(super_users="User:a;User:b"), controller(super_users="User:b; User:a")) == {}
        assert found(broker(super_users="User:a"), controller()) == {"super.users": (Kind.ROLES,)}

    def test_controllers_before_the_release_that_reads_it_are_left_out(self) -> None:
        old, new = find_release("3.8"), find_release("3.9")
        given = {"unclean.leader.election.interval.ms": "7"}
        for release, expected in ((old, {}), (new, {"unclean.leader.election.interval.ms": (Kind.CONTROLLERS,)})):
            nodes = [of_file(item, id=id, role=C, release=release) for id, item in enumerate((given, {}))]
            assert found(*nodes) == expected


class TestWhatANodeAnswers:
    def test_default_is_not_given(self) -> None:
        node = of_answer([config_entry("num.partitions", (DEFAULT_SOURCE, "1"))], id=1, role=B)
        assert not node.values["num.partitions"].given
        assert "delete.topic.enable" not in node.values

    @pytest.mark.parametrize(("cluster", "file", "matters"), [("1", "2", True), ("2", "1", False)])
    def test_value_of_the_cluster_takes_precedence(self, cluster: str, file: str, matters: bool) -> None:
        sources = ((3, cluster), (4, file), (5, "1"))
        nodes = [
            of_answer([config_entry("min.insync.replicas", *sources)], id=1, role=B),
            of_answer([config_entry("min.insync.replicas", (3, cluster), (5, "1"))], id=3001, role=C),
        ]
        (difference,) = differences(nodes)
        assert (difference.kinds, difference.matters) == ((Kind.OVERRIDDEN,), matters)
        assert difference.files == {file: ("broker 1",)}
        (finding,) = difference_findings((difference,))
        assert finding.id == ("setting-overridden" if matters else "settings-shown-differently")

    def test_value_that_is_not_reported_is_the_default(self) -> None:
        answer = [{"Name": "create.topic.policy.class.name", "Value": None, "ConfigSource": 5, "Synonyms": []}]
        assert of_answer(answer, id=1, role=B).values["create.topic.policy.class.name"].text == ""


class TestTheVerdict:
    def test_nothing_is_complete_without_both_roles(self) -> None:
        assert verdict_of([broker(), controller()], []).complete
        assert not verdict_of([broker()], []).complete
        assert [finding.id for finding in verdict_of([broker()], []).findings] == ["no-settings-of-role"]

    def test_node_that_answers_and_was_not_read_leaves_it_open(self) -> None:
        silent, denied = (
            ("controller 2", C, False, "…", "node-silent", ""),
            ("controller 3", C, True, "…", "not-authorised", "kafka-acls.sh …"),
        )
        assert verdict_of([broker(), controller()], [silent]).complete
        verdict = verdict_of([broker(), controller()], [silent, denied])
        assert not verdict.complete
        steps = {finding.id: finding.advice for finding in verdict.findings}
        assert set(steps) == {"silent-node-not-compared", "node-settings-not-read"}
        assert steps["node-settings-not-read"] == "kafka-acls.sh …"

    def test_role_whose_nodes_may_not_be_asked_for_is_unknown(self) -> None:
        unknown = {C: NotAsked(reason="DescribeQuorum was denied", step="kafka-acls.sh …")}
        (finding,) = verdict_of([broker()], [], unknown).findings
        assert "no controller are known (DescribeQuorum was denied)" in finding.message
        assert finding.next_step == "kafka-acls.sh …"

    def test_finding_names_the_role_that_decides_and_its_value(self) -> None:
        nodes = [broker(1, default_replication_factor="3"), broker(2, default_replication_factor="3"), controller()]
        (finding,) = verdict_of(nodes, []).findings
        assert (finding.id, finding.subject) == ("controller-setting-differs", "default.replication.factor")
        assert "is 3 on brokers 1, 2, 1 on controller 3001" in finding.message
        assert "CreateTopics without a replication factor" in finding.message
        assert finding.evidence["decides"] == ["controller", "broker"]
