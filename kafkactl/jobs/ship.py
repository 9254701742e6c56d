"""kafkactl's own code for the workers of a session: one zip, added once."""

from __future__ import annotations

import atexit
import hashlib
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from kafkactl.core.errors import InputError
from kafkactl.core.extras import install_advice
from kafkactl.jobs.session import NEEDED, write_zip

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_DIGITS: Final = 12
_HAVE: WeakSet[SparkSession] = WeakSet()


def ship_code(session: SparkSession) -> None:
    """Make kafkactl importable on the workers of a session. Each function of this package calls it.

    Raises InputError `spark-needs-extra` if a package that the functions need is missing here.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"kafkactl.spark needs the extra `spark`: {', '.join(missing)} cannot be imported",
            id="spark-needs-extra",
            next_step=f"{install_advice('spark')}.",
        )
    if session not in _HAVE:
        session.addArtifacts(str(_zip()), pyfile=True)
        _HAVE.add(session)


@dataclass(frozen=True, slots=True)
class ShippedTask:
    """A function for `mapInArrow` whose modules a worker imports after what they need was checked."""

    content: bytes

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the function's result for the rows of a task. Raises ModuleNotFoundError if a package is missing."""
        missing = [name for name in NEEDED if find_spec(name) is None]
        if missing:
            raise ModuleNotFoundError(
                f"{sys.executable} of Spark's workers has no {', '.join(missing)}: set PYSPARK_PYTHON, or"
                " spark.pyspark.python, to a Python with pyarrow, pandas and numpy"
            )
        function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]] = pickle.loads(self.content)
        yield from function(rows)


def shipped(function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> ShippedTask:
    """Return a function for `mapInArrow` as a task that checks the worker first."""
    from pyspark import cloudpickle

    return ShippedTask(cloudpickle.dumps(function))


@cache
def _zip() -> Path:
    """Return a zip that lasts as long as this process. The name has a hash: a session keeps one file of each name."""
    folder = Path(tempfile.mkdtemp(prefix="kafkactl-code-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = write_zip(folder / "kafkactl.zip")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]
    return path.rename(folder / f"kafkactl-{digest}.zip")
