"""The parent of Spark's Python workers on this machine, in place of `pyspark.daemon`: it loads once what they all need.

Spark puts pyspark on its workers' path as a zip of sources, before the pyspark that is installed, and a jar as well:
each worker would compile the one and list the other, longer than it folds ten thousand records. Here the installed one
is taken, and what workers import is imported before they are forked. Nothing of that starts a thread.

Run as `python -m kafkactl.spark.daemon MODULE`, MODULE being what workers run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import PurePath

WORKER = "pyspark.worker"  # folds; other modules plan


def installed(path: Sequence[str]) -> list[str]:
    """A module path without what Spark has put there.

    >>> installed(["/x/pyspark/python/lib/pyspark.zip", "/x/pyspark/jars/spark-core_2.13-4.1.0.jar", "/x"])
    ['/x']
    """
    return [
        folder
        for folder in path
        if PurePath(folder).suffix != ".jar" and PurePath(folder).parts[-3:-1] != ("python", "lib")
    ]


def main(arguments: Sequence[str]) -> None:
    """Serve Spark until it closes the standard input."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"  # numpy's own threads would not outlive a fork
    if arguments == [WORKER]:
        import_module(WORKER)
        import_module("kafkactl.dryrun.engine.spark.read")
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    sys.path[:] = installed(sys.path)
    main(sys.argv[1:])
