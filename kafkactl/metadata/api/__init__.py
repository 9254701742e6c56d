"""The metadata log: load the state that it comes to, and read, check and search its records.

`place` is where a log is read from: a folder such as /disk1/__cluster_metadata-0, single files of one log, or a client
of a live cluster (`kafkactl.connect`), whose active controller then gives its log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "File",
    "Folder",
    "ImageDifference",
    "LintResult",
    "LoadedImage",
    "LogExport",
    "LogVerification",
    "RecordDump",
    "RecordHistory",
    "browse",
    "compare_images",
    "dump_records",
    "export_tables",
    "find",
    "image_pieces",
    "image_summary",
    "image_to_dict",
    "lint",
    "load_image",
    "record_history",
    "verify_logs",
    "walk",
]

if TYPE_CHECKING:
    from kafkactl.metadata.api.difference import ImageDifference, compare_images
    from kafkactl.metadata.api.history import RecordHistory, record_history
    from kafkactl.metadata.api.image import (
        LintResult,
        image_pieces,
        image_summary,
        image_to_dict,
        lint,
        load_image,
    )
    from kafkactl.metadata.api.records import RecordDump, dump_records
    from kafkactl.metadata.api.tree import File, Folder, browse, find, walk
    from kafkactl.metadata.api.verify import LogVerification, verify_logs
    from kafkactl.metadata.io.image import LoadedImage
    from kafkactl.spark.api import LogExport, export_tables
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.metadata.io.image": ("LoadedImage",),
            "kafkactl.spark.api": ("LogExport", "export_tables"),
            f"{__name__}.difference": ("ImageDifference", "compare_images"),
            f"{__name__}.history": ("RecordHistory", "record_history"),
            f"{__name__}.image": (
                "LintResult", "image_pieces", "image_summary", "image_to_dict", "lint", "load_image",
            ),
            f"{__name__}.records": ("RecordDump", "dump_records"),
            f"{__name__}.tree": ("File", "Folder", "browse", "find", "walk"),
            f"{__name__}.verify": ("LogVerification", "verify_logs"),
        },
    )  # fmt: skip
