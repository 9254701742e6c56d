"""Tiered storage (KIP-405) by its metadata topic: audit, segments, history, forecast, leftovers, and a page of it all.

    request = kafkactl.tiered.Request(sources=("/data/kafka",), metadata="/data/kafka/__cluster_metadata-0")
    loaded = kafkactl.tiered.load_remote_log(request)
    found = kafkactl.tiered.report(loaded)
    found.findings, found.pictures
    kafkactl.tiered.write_html("report.html", found)

What is read is named by a `Request`: folders of the metadata topic, the log directories of brokers, a saved
observation (`observation`), what a live cluster answered (`observe(client)` as `live`), and a listing of the store
(`bucket`). A request is read and folded once, by `load_remote_log`; every other function takes what that returns.
Nothing is written to a cluster or a store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

# Other names than those of the library's own modules, which a package gives before what it is asked for.
__all__ = [
    "Audit",
    "Candidate",
    "Filters",
    "Forecast",
    "Leftover",
    "Leftovers",
    "LiveObservation",
    "Loaded",
    "PartitionForecast",
    "RemoteSegment",
    "Request",
    "Saved",
    "TieredReport",
    "audit_remote_log",
    "foresee",
    "history",
    "left_over",
    "load_remote_log",
    "observe",
    "report",
    "save",
    "segments",
    "write_html",
]

if TYPE_CHECKING:
    from kafkactl.tiered.answers import RemoteSegment
    from kafkactl.tiered.api.load import Loaded, Request
    from kafkactl.tiered.api.load import load as load_remote_log
    from kafkactl.tiered.api.pages import report, write_html
    from kafkactl.tiered.api.verbs import Filters, Saved, foresee, history, left_over, observe, save, segments
    from kafkactl.tiered.api.verbs import audit as audit_remote_log
    from kafkactl.tiered.forecast import Candidate, PartitionForecast
    from kafkactl.tiered.io.live import LiveObservation
    from kafkactl.tiered.judgements import Audit, Forecast, TieredReport
    from kafkactl.tiered.leftovers import Leftover, Leftovers
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.tiered.answers": ("RemoteSegment",),
            "kafkactl.tiered.api.load": ("Loaded", "Request", "load_remote_log=load"),
            "kafkactl.tiered.api.pages": ("report", "write_html"),
            "kafkactl.tiered.api.verbs": (
                "Filters", "Saved", "audit_remote_log=audit", "foresee", "history", "left_over", "observe", "save",
                "segments",
            ),
            "kafkactl.tiered.forecast": ("Candidate", "PartitionForecast"),
            "kafkactl.tiered.io.live": ("LiveObservation",),
            "kafkactl.tiered.judgements": ("Audit", "Forecast", "TieredReport"),
            "kafkactl.tiered.leftovers": ("Leftover", "Leftovers"),
        },
    )  # fmt: skip
