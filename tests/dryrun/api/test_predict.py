"""`kafkactl.dryrun.predict` on what `kafkactl.log.load_image` gives, as the API reference writes it."""

from __future__ import annotations

import kafkactl
from kafkactl.core.frozen import changed
from tests.commands.captured import unpacked


def test_a_loss_is_predicted_on_a_loaded_image(tmp_path):
    loaded = kafkactl.log.load_image(unpacked("4.4.0", tmp_path))
    broker = min(loaded.image.brokers)
    found = kafkactl.dryrun.predict(loaded, "broker-loss", brokers=[broker])
    assert found == kafkactl.dryrun.predict(loaded.image, "broker-loss", brokers=[broker])
    finding = kafkactl.Finding(id="a", severity=kafkactl.Severity.WARNING, subject="log", message="Half was read.")
    doubted = kafkactl.dryrun.predict(changed(loaded, findings=(finding,)), "broker-loss", brokers=[broker])
    assert doubted.findings == (finding, *found.findings)
