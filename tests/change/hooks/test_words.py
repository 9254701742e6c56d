"""Templates of hooks: which words they become, and that no value becomes more than its word."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from kafkactl.change.hooks.templates import DERIVED, TEMPLATES, VARIABLES
from kafkactl.change.hooks.words import (
    CONTRACT,
    EXTRA,
    LISTS,
    Verb,
    check_template,
    directory_of_node,
    parse_template,
    words_of,
)
from kafkactl.core.errors import InputError

NASTY = """a b;$(touch /tmp/x)`id`'"\\|&>*"""
VALUES = {"node_id": "1", "host": "h1", "config_path": "/etc/kafka/a b.properties", "log_dirs": ("/d1", "/d 2")}


def made(text: str, **more: str | tuple[str, ...]) -> tuple[str, ...]:
    return words_of(parse_template(text, where="t"), {**VALUES, **more}, where="t")


def test_text_is_split_before_values_are_put_in() -> None:
    assert made("run --file={config_path} 'two words' {node_id}") == (
        "run", "--file=/etc/kafka/a b.properties", "two words", "1",
    )  # fmt: skip
    assert made("run {x}", x=NASTY) == ("run", NASTY)


def test_value_for_a_remote_shell_is_quoted() -> None:
    words = made("ssh h cat {x:q}", x=NASTY)
    heard = subprocess.run(["sh", "-c", "printf %s " + words[-1]], capture_output=True, text=True, check=True)
    assert heard.stdout == NASTY
    assert made("find {log_dirs:q}") == ("find", "/d1 '/d 2'")


def test_list_is_spread_over_words_and_only_as_a_word_of_its_own() -> None:
    assert made("find {log_dirs*} -x") == ("find", "/d1", "/d 2", "-x")
    assert made("find {host*}") == ("find", "h1")
    with pytest.raises(InputError, match="must be a separate word"):
        check_template(("find", "--in={log_dirs*}"), Verb.FS_PROBE, (), where="t")


def test_double_braces_are_braces() -> None:
    assert made("kubectl -o jsonpath={{.data}}") == ("kubectl", "-o", "jsonpath={.data}")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("run 'open", "cannot be split"),
        ("", "no command"),
        ([], "no command"),
        ([""], "no command"),
        (7, "expected is a text or a list"),
        (["run", 7], "expected is a text or a list"),
    ],
)
def test_invalid_template_is_refused(given: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_template(given, where="hooks.restart")
    assert caught.value.id == "hook-template-invalid"
    assert caught.value.message.startswith("hooks.restart: ")


@pytest.mark.parametrize("template", ["run {unknown}", "run {", "run }", "run {node id}", "run {sha_before}"])
def test_unknown_value_in_a_template_is_refused_before_a_run(template: str) -> None:
    with pytest.raises(InputError) as caught:
        check_template(parse_template(template, where="t"), Verb.RESTART, (), where="t")
    assert caught.value.id == "hook-template-invalid"


@pytest.mark.parametrize("value", ["a\nb", "a\0b", "a\rb"])
def test_value_with_a_line_break_is_refused(value: str) -> None:
    with pytest.raises(InputError) as caught:
        made("run {x}", x=value)
    assert caught.value.id == "hook-value-invalid"


def test_value_cannot_become_an_option() -> None:
    with pytest.raises(InputError, match="option") as caught:
        made("ssh {host}", host="-oProxyCommand=touch /tmp/x")
    assert caught.value.id == "hook-value-invalid"
    assert made("run -{node_id}") == ("run", "-1")
    for word in ("{x:q}", "{x}{host}", "{x*}", "{host}"):
        with pytest.raises(InputError, match="option"):
            made(f"systemctl restart {word}", x="-H elsewhere", host="-Helsewhere")


@pytest.mark.parametrize("template", ["find {log_dirs*} -maxdepth 1", "ssh h find {log_dirs:q}", "ls --all={log_dirs}"])
@pytest.mark.parametrize("name", ["-exec", "(", "!", "data", "", "./d", "/a/../b", "/a/", "//a", "/a/./b", "-", "\t/a"])
def test_list_holds_absolute_directories_and_no_option(template: str, name: str) -> None:
    with pytest.raises(InputError) as caught:
        made(template, log_dirs=("/data", name))
    assert caught.value.id == "hook-value-invalid"


@pytest.mark.parametrize("name", ["x;id", "$(id)", "a b", "`id`", "a\tb", "ü"])
def test_names_that_come_from_a_cluster_are_names(name: str) -> None:
    # A template may have forgotten `:q`; what ZooKeeper holds is not to be run for that.
    for key in ("cluster_id", "release"):
        with pytest.raises(InputError) as caught:
            made(f"ssh h format {{{key}}}", **{key: name})
        assert caught.value.id == "hook-value-invalid"


@pytest.mark.parametrize(
    ("text", "path"),
    [("/data", "/data"), ("//data//1/", "/data/1"), ("/a/./b", "/a/b"), ("/d,1+2=3@h%:x", "/d,1+2=3@h%:x")],
)
def test_directory_of_a_nodes_file_is_normalised(text: str, path: str) -> None:
    assert directory_of_node(text, where="broker 1") == path


@pytest.mark.parametrize(
    "text",
    ["", "data", "-exec", "../x", "/a/../../etc", "/a;id", "/a b", "/$(id)", "/a*", "/~", "/a\nb", "/ü", "(", "/a'b"],
)
def test_directory_of_a_nodes_file_that_could_be_read_otherwise_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        directory_of_node(text, where="broker 1")
    assert caught.value.id == "node-directory-refused"
    assert "inventory" in str(caught.value.advice)


@pytest.mark.parametrize("name", TEMPLATES)
def test_ready_made_hooks_use_what_is_given(name: str) -> None:
    assert set(VARIABLES) == set(TEMPLATES)
    for verb, template in TEMPLATES[name].items():
        check_template(template, verb, {*VARIABLES[name], *DERIVED}, where=f"{name}.{verb}")
        fill = {**dict.fromkeys((*CONTRACT, *EXTRA.get(verb, ()), *VARIABLES[name], *DERIVED), "v")}
        words_of(template, {**fill, **dict.fromkeys(LISTS, ("/v",)), "metadata_dir": "/v"}, where=name)


def test_swap_over_ssh_replaces_what_it_expects_and_nothing_else(tmp_path) -> None:
    # A shell takes the remote side, as with sshd: the words after the host, joined by spaces.
    file = tmp_path / "server's $HOME.properties"
    file.write_text("old")
    sums = {text: subprocess.run(["sha256sum"], input=text.encode(), capture_output=True, check=True).stdout[:64]
            for text in ("old", "new")}  # fmt: skip

    def put(before: str, after: str, content: bytes) -> int:
        values = {**VALUES, "ssh_user": "", "config_path": str(file), "sha_before": before, "sha_after": after}
        words = words_of(TEMPLATES["systemd-ssh"][Verb.PUT_CONFIG], values, where="t")
        remote = " ".join(words[words.index("h1") + 3 :])  # without `sudo -n`
        return subprocess.run(["sh", "-c", remote], input=content, check=False).returncode

    old, new = sums["old"].decode(), sums["new"].decode()
    assert put(old, new, b"ne") == 66 and file.read_text() == "old"  # cut off on its way
    assert put(old, new, b"new") == 0 and file.read_text() == "new"
    assert put(old, new, b"new") == 0  # again: nothing to do
    file.write_text("edited")
    assert put(old, new, b"new") == 65 and file.read_text() == "edited"
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_values_of_a_template_may_be_quoted_lists() -> None:
    words = words_of(("x", "{format_flags:q}"), {"format_flags": ("--standalone", "a b")}, where="t")
    assert shlex.split(words[1]) == ["--standalone", "a b"]
