"""Predicted effect of a change or a failure: the active controller's rules, simulated on the cluster's own log."""

from __future__ import annotations

from kafkactl.core.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "kafkactl.dryrun.api": (
            "PredictedCopy", "Prediction", "Report", "ScenarioContext", "Verdict", "predict", "predict_copy",
            "read_context", "report", "scenario_names",
        )
    },
)  # fmt: skip
