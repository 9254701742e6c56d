"""The fuzz campaign of `bench/fuzz_decoders.py`: a taste of it always, all of it in `make lab`."""

from __future__ import annotations

import pytest

from bench import fuzz_decoders


@pytest.mark.slow
def test_few_thousand_inputs_give_values_or_declared_errors():
    campaign = fuzz_decoders.run(6000, seed=20)
    assert sum(tally.inputs for tally in campaign.tallies.values()) == 6000
    assert all(tally.values and tally.inputs for tally in campaign.tallies.values())
    assert sum(len(tally.errors) for tally in campaign.tallies.values()) > 40


def test_undeclared_error_is_reported_with_its_input(monkeypatch: pytest.MonkeyPatch):
    def broken(_: object, data: bytes) -> object:
        raise ValueError(data)

    target = fuzz_decoders.Target("broken", 100, lambda rng: (None, b"\x12\x34"), broken)
    monkeypatch.setattr(fuzz_decoders, "targets", lambda: [target])
    with pytest.raises(fuzz_decoders.UndeclaredError, match=r"broken None: ValueError.* on 1234"):
        fuzz_decoders.run(1)


def test_memory_out_of_proportion_is_reported(monkeypatch: pytest.MonkeyPatch):
    target = fuzz_decoders.Target("greedy", 100, lambda rng: (None, b"x"), lambda _, data: bytes(1_000_000))
    monkeypatch.setattr(fuzz_decoders, "targets", lambda: [target])
    with pytest.raises(fuzz_decoders.UndeclaredError, match="bytes for an input of 1"):
        fuzz_decoders.run(fuzz_decoders.MEASURED_EVERY)


@pytest.mark.campaign
def test_million_inputs_give_values_or_declared_errors():
    campaign = fuzz_decoders.run(fuzz_decoders.INPUTS, seed=1)
    fuzz_decoders.write(fuzz_decoders.PROOF, fuzz_decoders.report(campaign))
