"""The fuzz campaign of `bench/fuzz_log.py`: a taste of it always, all of it in `make lab`."""

from __future__ import annotations

import pytest

from bench import fuzz_log
from bench.fuzz_decoders import UndeclaredError, run


@pytest.mark.slow
def test_a_few_thousand_inputs_give_lines_or_findings():
    campaign = run(3000, 20, fuzz_log.targets())
    assert all(tally.values and tally.errors for tally in campaign.tallies.values())


@pytest.mark.slow
def test_processes_share_a_campaign():
    campaign = fuzz_log.campaign(400, processes=2)
    assert campaign.inputs == sum(tally.inputs for tally in campaign.tallies.values()) == 402


def test_a_difference_between_the_two_implementations_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fuzz_log._Careful, "lines", lambda self, pieces, *, file: iter(["other\n"]))
    with pytest.raises(UndeclaredError, match="careful: other"):
        run(200, 1, fuzz_log.targets())


@pytest.mark.campaign
def test_a_million_inputs_give_lines_or_findings():
    fuzz_log.write(fuzz_log.section(fuzz_log.campaign()))
