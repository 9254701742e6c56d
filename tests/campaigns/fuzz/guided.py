"""Run of one target under Atheris: `python -m tests.campaigns.fuzz.guided TARGET FOLDER [OPTION OF LIBFUZZER]...`.

FOLDER/corpus takes what reaches something new; it begins with the target's own inputs. An input that fails is left in
FOLDER/found, and the process ends with its error. tests.campaigns.fuzz.campaign runs this, a piece at a time.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-not-found, unused-ignore]

with atheris.instrument_imports(include=["kafkactl"]):
    from tests.campaigns.fuzz.target import Target, execute, little_memory
    from tests.campaigns.fuzz.targets import TARGETS

HANG_S = 60  # only separates a slow answer from a hang
_OTHERS: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 1.5, "", "x", "AAAA", "\0", "\ud800", [], {}, [1], {"a": 1}, 1 << 31, 1 << 70, [[]],
    [None], -(1 << 31), float("inf"), float("nan"), "1", "/a", "q1Sh-9_ISia_zwGINzRvyQ",
)  # fmt: skip


def mutated_json(data: bytes, most_bytes: int, seed: int) -> bytes:
    """Mutate a document: half of the time a value, key or element, so that it stays JSON; else any bytes."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return bytes(atheris.Mutate(data, most_bytes))
        try:
            for _ in range(rng.choice((1, 1, 2, 4))):
                document = changed(rng, document)
            text = json.dumps(document).encode()
        except RecursionError:  # a document that nests as deeply as can be read
            return bytes(atheris.Mutate(data, most_bytes))
        if len(text) <= most_bytes:
            return text
    return bytes(atheris.Mutate(data, most_bytes))


def changed(rng: random.Random, document: Any) -> Any:
    """Return the document with another value in one place, or a place taken out, doubled or renamed."""
    places = list(_places(document))
    if not places:
        return copied(rng.choice(_OTHERS))
    held, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del held[key]
        case 1 if isinstance(held, list):
            held.insert(key, copied(held[key]))
        case 1:
            other = rng.choice(list(held))
            held[other] = held.pop(key)
        case 2:
            other, at = rng.choice(places)
            held[key] = copied(other[at])
        case 3 if type(held[key]) is int:
            held[key] += rng.choice((-1, 1, 256, 1 << 32))
        case _:
            held[key] = copied(rng.choice(_OTHERS))
    return document


def copied(value: Any) -> Any:
    """Return the same value, so that no two places share a list or object."""
    return json.loads(json.dumps(value)) if isinstance(value, dict | list) else value


def _places(value: Any) -> Any:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield value, key
        yield from _places(item)


def fuzz(target: Target, folder: Path, options: list[str]) -> None:
    """Run libFuzzer, which ends the process."""
    feed, seeds = target.make()
    corpus, found = folder / "corpus", folder / "found"
    for place in (corpus, found):
        place.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate([*seeds, *(path.read_bytes() for path in (*target.corpus, *target.failed))]):
        (corpus / f"seed-{number}").write_bytes(seed[: target.most_bytes])
        execute(feed, target.declared, seed)  # what is made once is not what an input costs

    def one_input(data: bytes) -> None:
        with little_memory():
            execute(feed, target.declared, data)

    words = [
        f"-max_len={target.most_bytes}",
        f"-timeout={HANG_S}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
    ]
    mutator = {"custom_mutator": mutated_json} if target.is_json else {}
    atheris.Setup([sys.argv[0], str(corpus), *words, "-print_final_stats=1", *options], one_input, **mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(TARGETS[sys.argv[1]], Path(sys.argv[2]), sys.argv[3:])
