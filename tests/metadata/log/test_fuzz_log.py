"""The fuzz campaign of `bench/fuzz_log.py`: a taste of it always, all of it in `make lab`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import fuzz_log
from bench.fuzz_decoders import UndeclaredError, run


@pytest.mark.slow
def test_few_thousand_inputs_give_lines_or_findings():
    campaign = run(3000, 20, fuzz_log.targets())
    assert all(tally.values and tally.errors for tally in campaign.tallies.values())


@pytest.mark.slow
def test_campaign_is_shared_by_processes():
    campaign = fuzz_log.campaign(400, processes=2)
    assert campaign.inputs == sum(tally.inputs for tally in campaign.tallies.values()) == 402


def test_difference_between_the_two_implementations_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fuzz_log._Careful, "lines", lambda self, pieces, *, file: iter(["other\n"]))
    with pytest.raises(UndeclaredError, match="careful: other"):
        run(200, 1, fuzz_log.targets())


@pytest.mark.slow
def test_whole_campaign_replaces_its_section_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "fuzz.md"
    page.write_text(f"# Fuzz\n\n{fuzz_log.SECTION}\n\nof an earlier run\n\n## Others\n\nstay\n", encoding="utf-8")
    monkeypatch.setattr(fuzz_log, "PROOF", page)
    fuzz_log.main(["200"])
    assert "of an earlier run" in page.read_text(encoding="utf-8")  # too few inputs to be recorded
    monkeypatch.setattr(fuzz_log, "INPUTS", 200)
    fuzz_log.main([])
    written = page.read_text(encoding="utf-8")
    assert "of an earlier run" not in written and "| all | 200 |" in written
    assert written.startswith(f"# Fuzz\n\n{fuzz_log.SECTION}\n") and written.endswith("\n## Others\n\nstay\n")


@pytest.mark.campaign
def test_million_inputs_give_lines_or_findings():
    fuzz_log.main([])
