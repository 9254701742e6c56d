"""The scenarios of a report of a large cluster, simulated by several processes: none depends on what another finds."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, Final, TypeVar

from kafkactl.files.children import done_ahead, useful_processes
from kafkactl.metadata.image.model import Image

Asked = tuple[str, Any]
Result = TypeVar("Result")

MOST_HELD: Final = 16  # scenarios; of each what a report shows of it is held, which is small
LARGE: Final = 20_000  # partitions, from which on a scenario takes longer than its process costs


def simulated_ahead(
    scenarios: Iterable[Asked], simulate: Callable[[str, Any], Result], image: Image, *, processes: int | None = None
) -> Iterator[Result]:
    """Yield the result of each simulation, in the order of the scenarios and their inputs.

    Of a large image several are simulated at once (default: as many processes as are useful here), and the results are
    pickled. Raises as `simulate`, after the earlier results.
    """
    if processes is None:
        processes = useful_processes() if image.partition_count() >= LARGE else 1
    if processes < 2:
        yield from (simulate(*asked) for asked in scenarios)
        return

    def work(asked: Asked) -> list[bytes]:
        return [pickle.dumps(simulate(*asked), protocol=pickle.HIGHEST_PROTOCOL)]

    with closing(done_ahead(scenarios, work, processes, alone=lambda _: False, held=MOST_HELD)) as done:
        for asked, made in done:
            yield simulate(*asked) if made is None else pickle.loads(b"".join(made))
