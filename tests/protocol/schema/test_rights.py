"""Rights of requests and commands: the table, and what is made of it."""

from __future__ import annotations

import shlex

import pytest

from kafkactl.commands.framework.lazy_group import LazyGroup
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.rights import (
    Login,
    Right,
    command_rights,
    denied_text,
    grant_step,
    not_authorised,
    request_rights,
    right_of,
    server_text,
)
from scripts.make_reference import every_command

# Words of 4.3.1 (a forwarded UpdateFeatures) and of 3.9.2 (DescribeCluster at a controller), shortened.
NEWER = (
    "Request Request(processor=0, connectionId=127.0.0.1:39093-127.0.0.1:39866-0-13, "
    "session=org.apache.kafka.network.Session@2e1254ff, listenerName=ListenerName(CONTROLLER), "
    "buffer=java.nio.HeapByteBuffer[pos=44 lim=44 cap=64], envelope=Some(Request(processor=0, "
    "session=org.apache.kafka.network.Session@3179e5f7, envelope=None))) needs ALTER permission."
)
OLDER = "Request Request(processor=0, session=Session(User:alice,/127.0.0.1), envelope=None) needs ALTER permission."


def test_every_request_of_the_table_is_defined_by_kafka() -> None:
    for name in request_rights():
        assert message(f"{name}Request").api_key is not None
    for row in command_rights():
        assert {*row.answer, *row.change} <= set(request_rights())


def test_every_command_on_a_live_cluster_has_a_row() -> None:
    named = [name for row in command_rights() for name in row.names]
    live = {
        ctx.command_path.removeprefix("kafkactl ")
        for ctx, command in every_command()
        if not isinstance(command, LazyGroup) and any(option.name == "bootstrap_server" for option in command.params)
    } - {"quorum recover verify"}  # asks for the quorum as `quorum describe` does
    live -= {path for path in live if path.startswith("config ")}  # these write addresses down and ask no node
    missing = {path for path in live if not any(path == name or path.startswith(f"{name} ") for name in named)}
    assert missing == set(), "name the command in a row of schemas/rights.toml, with the requests that it sends"
    assert len(named) == len(set(named))


def test_command_that_adds_a_right_is_one_shell_line() -> None:
    login = Login(principal="User:o'ps team", brokers="b1:9092,b2:9092")
    words = shlex.split(login.grant([right_of("DescribeQuorum"), right_of("Fetch"), right_of("Fetch")]))
    assert words[:3] == ["kafka-acls.sh", "--bootstrap-server", "b1:9092,b2:9092"]
    assert words[words.index("--allow-principal") + 1] == "User:o'ps team"
    assert [words[n + 1] for n, word in enumerate(words) if word == "--operation"] == ["Describe", "ClusterAction"]
    assert words[-1] == "--cluster"


def test_user_that_only_the_server_knows_has_a_placeholder() -> None:
    assert "--allow-principal User:NAME " in grant_step("Fetch", Login())
    text = "h:1 denied Fetch to this user (CLUSTER_AUTHORIZATION_FAILED): ClusterAction on the cluster is missing"
    assert denied_text("Fetch", "h:1", Login()) == text


def test_server_that_names_the_user_is_quoted() -> None:
    error = not_authorised("DescribeCluster", "h:1", Login(), OLDER)
    assert error.message.startswith("h:1 denied DescribeCluster to User:alice (CLUSTER_AUTHORIZATION_FAILED)")
    assert error.message.endswith(": Alter on the cluster is missing")
    assert "--allow-principal User:alice --operation Alter --cluster" in error.advice
    assert Login(principal="User:ops").named_by(OLDER) == Login(principal="User:ops")
    assert Login().named_by(NEWER) == Login()


@pytest.mark.parametrize("text", [NEWER, OLDER])
def test_printed_java_objects_are_left_out(text: str) -> None:
    assert server_text(text) == "the request needs ALTER permission."


def test_other_text_of_a_server_is_kept() -> None:
    assert server_text(None) == ""
    assert server_text("Broker ID 77 is not currently registered") == "Broker ID 77 is not currently registered"
    assert "@" not in server_text("no entry in org.apache.kafka.Some$Map@1b2c for it")


def test_right_reads_as_in_kafka_acls() -> None:
    assert str(right_of("AddRaftVoter")) == "Alter on the cluster" == str(Right(operation="Alter"))
