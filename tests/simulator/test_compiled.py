"""The compiled copy of the simulator: named by what is in it, refused where it cannot be made or is not the same."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from tests.simulator import compiled
from tests.simulator.campaign import campaign, compiled_results
from tests.simulator.compiled import COMPILED, CompiledError, Worker, check, copy_of, history, sources
from tests.simulator.ledger import CELLS, Cell, Order, Row, run_all

SHORT = next(cell for cell in CELLS if cell.length.seconds == 5)


def _plain_copy(folder: Path) -> Path:
    for file in sources():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(compiled.ROOT / file, folder / file)
    (folder / "kafkactl" / "schemas").symlink_to(compiled.ROOT / "schemas")
    return folder


def test_a_copy_has_what_the_simulator_imports() -> None:
    files = [str(file) for file in sources()]
    assert {*COMPILED, "kafkactl/values.py", "kafkactl/simulator/run.py"} <= set(files)
    assert not any(file.startswith(("kafkactl/commands", "kafkactl/adapters")) for file in files)


def test_another_source_is_another_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sources()
    known = copy_of(files)
    assert known == copy_of(files)
    monkeypatch.setattr(compiled, "ROOT", _plain_copy(tmp_path))
    assert known == copy_of(files)
    changed = tmp_path / "kafkactl" / "raft" / "log.py"
    changed.write_text(f"{changed.read_text()}\n")
    assert known != copy_of(files)


def test_no_compiler_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "COPIES", tmp_path / "copies")
    monkeypatch.setenv("CC", "cc-of-nowhere -O2")
    with pytest.raises(CompiledError, match="there is no C compiler cc-of-nowhere; install one, or set CC"):
        campaign(float("inf"), 1, tmp_path / "ledger.jsonl", is_compiled=True)
    assert not (tmp_path / "copies").exists()


@pytest.mark.slow  # mypy reads the modules before the compiler is started
def test_a_compiler_that_fails_is_a_message_and_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho this compiler is broken\nexit 1\n")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(compiled, "COPIES", tmp_path / "copies")
    monkeypatch.setattr(compiled, "COMPILED", ["kafkactl/raft/connections.py"])
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(CompiledError, match=r"mypyc ended with 1:(?s:.*)this compiler is broken"):
        compiled.compiled()
    assert not any((tmp_path / "copies").iterdir())


def test_a_copy_that_is_not_compiled_is_refused(tmp_path: Path) -> None:
    copy = _plain_copy(tmp_path)
    with Worker(copy) as worker, pytest.raises(CompiledError, match=r"runs .*/kafkactl/raft/calm\.py, which is not"):
        check(worker, copy, [])


def test_a_copy_with_another_history_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = _plain_copy(tmp_path)
    monkeypatch.setattr(compiled, "COMPILED", [])
    with Worker(copy) as worker:
        check(worker, copy, [(SHORT, 3)])
    network = copy / "kafkactl" / "simulator" / "network.py"
    # Of another length: what Python keeps compiled goes by the second and the size of a file.
    network.write_text(
        network.read_text().replace("SITE_DELAY_US: Final = (1_000, ", "SITE_DELAY_US: Final = (11_000, 1")
    )
    with Worker(copy) as worker, pytest.raises(CompiledError, match="5 s, 12 times as dense, seed 3"):
        check(worker, copy, [(SHORT, 3)])


def test_a_process_that_ends_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "kafkactl").mkdir()
    (tmp_path / "kafkactl" / "__init__.py").write_text("raise SystemExit(3)\n")
    with (
        Worker(tmp_path) as worker,
        pytest.raises(CompiledError, match="a process of the compiled simulator ended with 3"),
    ):
        worker.ask(history, (SHORT, 0))


@pytest.mark.slow  # few modules, because all of them take a minute: the campaign compares those
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_compiled_copy_makes_the_runs_of_the_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiled, "COPIES", tmp_path)
    monkeypatch.setattr(compiled, "COMPILED", [f"kafkactl/raft/{name}.py" for name in ("connections", "leader_state")])
    cells = [*{cell[0]: cell for cell in CELLS}.values(), SHORT]
    rows: dict[Cell, Row] = {cell: Row(runs=7) for cell in cells}
    wanted = [Order(cell, 7, 9) for cell in cells]
    made = dict(compiled_results(wanted, 2, rows))
    for order in wanted:
        expected = run_all(order)
        expected.compiled = 2
        assert made[order] == expected
    assert "5 of its runs compared with those of the modules, all are equal" in capsys.readouterr().out
