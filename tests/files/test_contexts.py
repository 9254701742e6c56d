from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import FailedError, InputError, KafkactlError, RefusedError
from kafkactl.files.contexts import Context, Contexts, Target, load_contexts, parse_contexts, resolve_target
from kafkactl.files.contexts_edit import change_contexts, edited, with_context, without_context
from tests.fakes.faulty_filesystem import Fault, FaultyFilesystem, Killed

TEXT = """\
# my clusters
current = "prod"   # mind this

[contexts.prod]
bootstrap_server = "b1:9092,b2:9092"  # both rooms
command_config = "prod.properties"
cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"

# the old one
[contexts."old.one"]
bootstrap_controller = "c1:9093"
"""


def parsed(text: str) -> Contexts:
    return parse_contexts(text.encode(), file="config.toml")


def save(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "config.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


class TestReading:
    def test_contexts_file_is_parsed(self) -> None:
        contexts = parsed(TEXT)
        assert contexts.current == "prod"
        assert contexts.context("prod").given() == {
            "bootstrap_server": "b1:9092,b2:9092",
            "command_config": "prod.properties",
            "cluster_id": "MkU3OEVBNTcwNTJENDM2Qg",
        }
        assert contexts.context("old.one") == Context(bootstrap_controller="c1:9093")

    def test_no_file_has_no_contexts(self, tmp_path: Path) -> None:
        assert load_contexts(tmp_path / "none.toml").by_name == {}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("current = ", "not TOML"),
            ("current = " + "[" * 5000, "not TOML"),
            ("a." * 5000 + "b = 1", "not TOML"),
            ("x = 1", "'x'"),
            ("current = 1", "current is a text"),
            ("contexts = 3", "contexts are tables"),
            ("[contexts]\nprod = 3", "not a table"),
            ('[contexts.prod]\nbootstrap_servers = "a:1"', "bootstrap_servers"),
            ("[contexts.prod]\ncluster_id = 3", "cluster_id (line 2) is not a string"),
            ('[contexts.prod]\ncluster_id = ""', "cluster_id (line 2) is not a string"),
            ('[contexts.prod]\nbootstrap_server = "a:1"\nbootstrap_controller = "b:2"', "keep one"),
        ],
    )
    def test_malformed_contexts_file_is_refused(self, text: str, words: str) -> None:
        with pytest.raises(InputError) as caught:
            parsed(text)
        assert caught.value.id == "malformed-contexts-file"
        assert words in caught.value.message

    def test_invalid_utf_8_is_refused(self) -> None:
        with pytest.raises(InputError, match="UTF-8"):
            parse_contexts(b"\xff", file="f")

    @pytest.mark.parametrize("key", ["password", "sasl.jaas.config"])
    def test_secret_that_does_not_belong_there_is_not_repeated(self, key: str) -> None:
        with pytest.raises(InputError) as caught:
            parsed(f'[contexts.prod]\n"{key}" = "hunter2"')
        assert "hunter2" not in str(caught.value.to_dict())
        assert "command_config" in caught.value.message

    @pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
    def test_contexts_file_with_open_mode_is_refused(self, tmp_path: Path, mode: int) -> None:
        with pytest.raises(InputError) as caught:
            load_contexts(save(tmp_path, TEXT, mode))
        assert caught.value.id == "contexts-file-not-safe"

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
    def test_file_of_another_user_is_refused(self, tmp_path: Path) -> None:
        path = save(tmp_path, TEXT)
        os.chown(path, 12345, -1)
        with pytest.raises(InputError) as caught:
            load_contexts(path)
        assert caught.value.id == "contexts-file-not-safe"

    def test_too_large_file_is_refused(self, tmp_path: Path) -> None:
        path = save(tmp_path, "#" * (1024 * 1024 + 1))
        with pytest.raises(InputError) as caught:
            load_contexts(path)
        assert caught.value.id == "unreadable-contexts-file"

    def test_folder_in_the_place_of_the_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError) as caught:
            load_contexts(tmp_path)
        assert caught.value.id == "unreadable-contexts-file"


class TestTarget:
    contexts = replace(parsed(TEXT), file="/etc/kafkactl/config.toml")

    def test_current_context_is_the_target(self) -> None:
        assert resolve_target(self.contexts) == Target(
            bootstrap_server="b1:9092,b2:9092",
            command_config="/etc/kafkactl/prod.properties",
            context="prod",
            cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        )

    def test_login_of_the_current_context_goes_nowhere_else(self) -> None:
        assert resolve_target(self.contexts, bootstrap_server="x:1") == Target(bootstrap_server="x:1")

    def test_arguments_go_before_a_context_that_is_named(self) -> None:
        target = resolve_target(self.contexts, context="prod", bootstrap_controller="x:1", command_config="mine")
        assert (target.bootstrap_server, target.bootstrap_controller) == (None, "x:1")
        assert (target.command_config, target.cluster_id) == ("mine", "MkU3OEVBNTcwNTJENDM2Qg")

    def test_path_of_its_own_is_kept(self) -> None:
        changed = with_context(self.contexts, "prod", {"command_config": "/abs/p.properties"})
        assert resolve_target(changed).command_config == "/abs/p.properties"

    def test_missing_current_context_is_refused(self) -> None:
        with pytest.raises(InputError) as caught:
            resolve_target(replace(self.contexts, current="gone"))
        assert caught.value.id == "unknown-context"


class TestEditing:
    def test_lines_that_do_not_change_stay(self) -> None:
        before = parsed(TEXT)
        after = with_context(before, "prod", {"cluster_id": "other", "command_config": None})
        text = edited(TEXT, before, after)
        assert parsed(text) == after
        assert set(TEXT.splitlines()) - set(text.splitlines()) == {
            'command_config = "prod.properties"',
            'cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"',
        }

    def test_brokers_take_the_place_of_controllers(self) -> None:
        before = parsed(TEXT)
        after = with_context(before, "old.one", {"bootstrap_server": "b:1"})
        assert after.context("old.one") == Context(bootstrap_server="b:1")
        assert parsed(edited(TEXT, before, after)) == after

    def test_current_context_is_added_to_a_file_without_one(self) -> None:
        text = "# clusters\n[contexts.a]\ncluster_id = 'x'\n"
        before = parsed(text)
        after = replace(before, current="a")
        assert edited(text, before, after) == "# clusters\ncurrent = \"a\"\n\n[contexts.a]\ncluster_id = 'x'\n"

    def test_context_goes_and_is_the_current_one_no_more(self) -> None:
        before = parsed(TEXT)
        after = without_context(before, "prod")
        assert after.current is None
        assert parsed(edited(TEXT, before, after)) == after

    @pytest.mark.parametrize("name", ["", "a b", "-x", "a]b", 'a"b', "ä", "a\n"])
    def test_name_that_cannot_be_one(self, name: str) -> None:
        with pytest.raises(InputError) as caught:
            with_context(parsed(TEXT), name, {})
        assert caught.value.id == "invalid-context-name"


names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,6}", fullmatch=True)
values = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
single = st.fixed_dictionaries(
    {}, optional={"command_config": values, "cluster_id": values, "bootstrap_server": values}
).map(lambda given: Context(**given))
some_contexts = st.dictionaries(names, single, max_size=4).flatmap(
    lambda by_name: st.sampled_from([None, *by_name]).map(
        lambda current: Contexts(file="f", current=current, by_name=by_name)
    )
)


@pytest.mark.slow
@given(first=some_contexts, second=some_contexts)
def test_any_contexts_are_edited_into_any_others(first: Contexts, second: Contexts) -> None:
    empty = Contexts(file="f", by_name={})
    text = edited("# kept\n", empty, first)
    assert parse_contexts(text.encode(), file="f") == first
    text = edited(text, first, second)
    assert parse_contexts(text.encode(), file="f") == second
    assert "# kept" in text


class TestTheDisk:
    @staticmethod
    def use(name: str) -> Callable[[Contexts], Contexts]:
        return lambda contexts: replace(contexts, current=name)

    def test_new_file_is_the_users_own(self, tmp_path: Path) -> None:
        path = tmp_path / "a" / "b" / "config.toml"
        change_contexts(path, lambda contexts: with_context(contexts, "x", {"cluster_id": "y"}))
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert [entry.name for entry in path.parent.iterdir()] == ["config.toml"]

    def test_nothing_to_change_and_a_dry_run_write_nothing(self, tmp_path: Path) -> None:
        path = save(tmp_path, TEXT)
        change_contexts(path, self.use("prod"))
        before, after = change_contexts(path, self.use("old.one"), dry_run=True)
        assert (before.current, after.current, path.read_text()) == ("prod", "old.one", TEXT)

    def test_link_stays_one(self, tmp_path: Path) -> None:
        real = save(tmp_path, TEXT)
        link = tmp_path / "link.toml"
        link.symlink_to(real)
        change_contexts(link, self.use("old.one"))
        assert link.is_symlink()
        assert load_contexts(real).current == "old.one"

    def test_another_process_is_editing_the_file(self, tmp_path: Path) -> None:
        path = save(tmp_path, TEXT)
        (tmp_path / ".config.toml.new").touch()
        with pytest.raises(RefusedError) as caught:
            change_contexts(path, self.use("old.one"))
        assert caught.value.id == "contexts-file-busy"
        assert (tmp_path / ".config.toml.new").exists()

    def test_file_that_cannot_be_edited_stays_as_it_is(self, tmp_path: Path) -> None:
        path = save(tmp_path, 'contexts = { a = { cluster_id = "x" } }\n')
        with pytest.raises(InputError) as caught:
            change_contexts(path, lambda contexts: with_context(contexts, "a", {"cluster_id": "y"}))
        assert caught.value.id == "contexts-file-not-editable"
        assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]

    def test_no_folder_can_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(KafkactlError) as caught:
            change_contexts(tmp_path / "file" / "config.toml", self.use("x"))
        assert caught.value.id in ("contexts-file-not-written", "unreadable-contexts-file")


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("new", [True, False])
def test_every_operation_may_fail_or_be_the_last(tmp_path: Path, fault: Fault, new: bool) -> None:
    change = lambda contexts: with_context(contexts, "x", {"cluster_id": "y"})  # noqa: E731
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "deep" / "config.toml" if new else save(folder, TEXT)
        files = FaultyFilesystem(folder, fail_at=number, fault=fault, seed=number)
        with contextlib.suppress(FailedError, Killed):
            change_contexts(path, change, files=files)
        contexts = load_contexts(path)  # readable at every moment: the old ones or the new ones, and whole
        assert "x" in contexts.by_name or contexts.by_name == ({} if new else parsed(TEXT).by_name)
        try:
            change_contexts(path, change)
        except RefusedError as error:
            assert error.id == "contexts-file-busy"
            path.with_name(".config.toml.new").unlink()
            change_contexts(path, change)
        assert "x" in load_contexts(path).by_name
        if len(files.operations) <= number:
            return
    pytest.fail("more operations than were tried")
