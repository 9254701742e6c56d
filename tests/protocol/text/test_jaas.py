"""The login line: read as Kafka reads it, refused without showing what might be a secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import InputError
from kafkactl.protocol.text.jaas import parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (f'{PLAIN} required username="u" password="p";', {"username": "u", "password": "p"}),
        (f"{PLAIN} REQUIRED username=u password='p w' ;", {"username": "u", "password": "p w"}),
        (f"{PLAIN} required;", {}),
        (f'\n {PLAIN}\n\trequired\n a = "1"\n;\n', {"a": "1"}),
        (f'{PLAIN} required a="x;y=z" b="//no comment" /* one */ ; // two', {"a": "x;y=z", "b": "//no comment"}),
        (rf'{PLAIN} required a="q\"q" b="b\\b" c="\t\101\q";', {"a": 'q"q', "b": "b\\b", "c": "\tAq"}),
        (f'{PLAIN} required a="1" a="2";', {"a": "2"}),
        (f'{PLAIN} required a="";', {"a": ""}),
        (f'{PLAIN} required unsecuredLoginStringClaim_sub="ä";', {"unsecuredLoginStringClaim_sub": "ä"}),
    ],
)
def test_lines_are_parsed(line: str, options: dict[str, str]) -> None:
    entry = parse_jaas(line)
    assert (entry.login_module, entry.short_name, entry.flag) == (PLAIN, "PlainLoginModule", "required")
    assert entry.options == options


@pytest.mark.parametrize(
    "line",
    [
        "",
        ";",
        PLAIN,
        f"{PLAIN} required",
        f"{PLAIN} maybe;",
        f'{PLAIN} required password="hunter2"',
        f"{PLAIN} required password=hunter2! ;",
        f"{PLAIN} required password=2hunter2;",
        f"{PLAIN} required hunter2;",
        f"{PLAIN} required password = ;",
        f'{PLAIN} required password="hunter2;',
        f'{PLAIN} required password="hunter2" "hunter2";',
        f'{PLAIN} required password="a"; {PLAIN} required password="hunter2";',
        f'{PLAIN} required password "hunter2";',
    ],
)
def test_refused_login_line_shows_no_secret(line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_jaas(line)
    assert (caught.value.id, caught.value.exit_code) == ("invalid-jaas-line", 2)
    assert "hunter2" not in f"{caught.value.to_dict()}"


def test_repr_holds_no_option() -> None:
    assert "hunter2" not in repr(parse_jaas(f'{PLAIN} required password="hunter2";'))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=30))
def test_any_text_can_be_a_value(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_jaas(f'{PLAIN} required password="{quoted}";').options == {"password": text}


@given(st.text(max_size=60))
def test_any_line_is_read_or_refused(text: str) -> None:
    try:
        parse_jaas(text)
    except InputError as error:
        assert error.id == "invalid-jaas-line"
