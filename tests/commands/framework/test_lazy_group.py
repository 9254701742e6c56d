from __future__ import annotations

import time

import pytest

from kafkactl.files import input_files


def test_file_of_arguments_is_replaced_by_its_words(kafkactl, tmp_path):
    inner = tmp_path / "inner"
    inner.write_text("--hel\n")
    outer = tmp_path / "outer"
    outer.write_bytes(f"random-uuid\r\n@{inner}\r\n".encode())
    run = kafkactl("storage", f"@{outer}")
    assert run.code == 2
    assert "'--hel'" in run.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file or directory"), (b"\xff\xfe", "not UTF-8"), (b"@%s\n", "names itself")],
)
def test_invalid_argument_file_is_refused(kafkactl, tmp_path, content, said):
    path = tmp_path / "arguments"
    if content is not None:
        path.write_bytes(content.replace(b"%s", str(path).encode()))
    run = kafkactl("storage", f"@{path}")
    assert run.code == 2
    assert said in run.stderr


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("-t=abc",), "abc"),
        (("-t", "abc"), "abc"),
        (("-tabc",), "abc"),
        (("-t=-g",), "-g"),
        (("-t=",), ""),
        (("-t", "-leading-dash"), "-leading-dash"),
        (("--cluster-id=-x",), "-x"),
        (("-t=a=b",), "a=b"),
    ],
)
def test_values_are_read_as_kafkas_parser_reads_them(sample, words, value):
    run = sample(*words, "-o", "json")
    assert run.json["cluster_id"] == value
    assert run.json["ignore_formatted"] is False


def test_features_may_be_given_many_times(sample):
    assert sample("-f", "a=1", "-f=b=2", "-fc=3", "-o", "json").json["features"] == ["a=1", "b=2", "c=3"]


def test_help_lists_the_table_and_shows_examples_and_exit_codes(sample, kafkactl):
    assert "sample      A sample." in kafkactl("-h").stdout
    text = sample("--help").stdout
    assert "Examples:\n  kafkactl sample -t ID\n" in text
    assert "Exit codes:" in text
    assert "KAFKACTL_SAMPLE_<OPTION>" in text
    assert text.index("--feature") < text.index("Common options:") < text.index("--output")


def test_time_limit_covers_argument_files(kafkactl, tmp_path, monkeypatch):
    # Reading them takes as long as their disk does, and none of their lines has to be read for the limit to hold.
    asked = []

    def slow(path, kind):
        asked.append(path)
        time.sleep(60)
        return b""

    monkeypatch.setattr(input_files, "read_whole", slow)
    # On a busy machine a short limit expires before the file is opened.
    for limit in ("50ms", "500ms", "5s", "20s"):
        began = time.monotonic()
        run = kafkactl("storage", f"@{tmp_path / 'arguments'}", "--timeout", limit, "-o", "json")
        assert (run.code, run.error["id"]) == (6, "timed-out")
        if asked:
            break
    assert asked and time.monotonic() - began < 50
