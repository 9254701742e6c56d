"""Options that reach a function as one value."""

from __future__ import annotations

from typing import NamedTuple

import click
from click.testing import CliRunner

from kafkactl.commands.framework.option_group import option_group


class Where(NamedTuple):
    host: str
    port: int = 9092


class Asked(NamedTuple):
    where: Where
    loud: bool


HOST = click.option("--host", required=True)
PORT = click.option("--port", type=int)
LOUD = click.option("--loud", is_flag=True)


def answer(function, *words):
    result = CliRunner().invoke(click.command()(function), words)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_options_of_a_group_arrive_as_one_value_next_to_others():
    @option_group("where", Where, HOST, PORT)
    @click.option("--topic")
    def command(*, where: Where, topic: str) -> None:
        click.echo(f"{where} {topic}")

    assert answer(command, "--host", "b1", "--port", "1", "--topic", "t") == "Where(host='b1', port=1) t"


def test_field_without_an_option_has_its_default():
    @option_group("where", Where, HOST)
    def command(*, where: Where) -> None:
        click.echo(where.port)

    assert answer(command, "--host", "b1") == "9092"


def test_function_that_does_not_take_the_value_gets_nothing():
    @option_group("where", Where, HOST, PORT)
    def command() -> None:
        click.echo("called")

    assert answer(command, "--host", "b1") == "called"


def test_group_of_options_is_a_field_of_another():
    @option_group("asked", Asked, option_group("where", Where, HOST, PORT), LOUD)
    def command(*, asked: Asked) -> None:
        click.echo(asked)

    expected = "Asked(where=Where(host='b1', port=2), loud=True)"
    assert answer(command, "--host", "b1", "--port", "2", "--loud") == expected


def test_value_may_be_made_in_another_way():
    @option_group("where", Where, HOST, make=lambda host: Where(host.upper()))
    def command(*, where: Where) -> None:
        click.echo(where.host)

    assert answer(command, "--host", "b1") == "B1"


def test_help_lists_the_options_in_their_order():
    @option_group("asked", Asked, option_group("where", Where, HOST, PORT), LOUD)
    def command(*, asked: Asked) -> None:
        """Ask."""

    text = answer(command, "--help")
    assert text.index("Ask.") < text.index("--host") < text.index("--port") < text.index("--loud")
