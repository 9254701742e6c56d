"""What would happen: the active controller's own rules played on the cluster's own log, before anything is done."""

from __future__ import annotations

from kafkactl.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "kafkactl.operations.dryrun": (
            "Prediction", "ScenarioContext", "Verdict", "predict", "read_context", "scenario_names",
        )
    },
)  # fmt: skip
