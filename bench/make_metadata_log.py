"""Writer of a generated metadata log to a disk, with the state that the log must lead to.

python -m bench.make_metadata_log FOLDER --records 1000000 --partitions 200000 --seed 1
"""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from pathlib import Path

from bench.log_generator import LogGenerator
from bench.log_shape import Expected, Shape, described


def write_log(folder: Path, shape: Shape) -> Expected:
    """Write segments and the files next to them into FOLDER/__cluster_metadata-0, and FOLDER/expected.json."""
    partition = folder / "__cluster_metadata-0"
    partition.mkdir(parents=True)
    generator = LogGenerator(shape)
    epochs: list[tuple[int, int]] = []
    size, file = shape.segment_bytes, None
    for batch in generator.batches():
        base, epoch = int.from_bytes(batch[:8], "big"), int.from_bytes(batch[12:16], "big")
        if not epochs or epochs[-1][0] != epoch:
            epochs.append((epoch, base))
        if file is None or size + len(batch) > shape.segment_bytes:
            if file is not None:
                file.close()
            file, size = (partition / f"{base:020d}.log").open("wb"), 0
        file.write(batch)
        size += len(batch)
    if file is not None:
        file.close()
    lines = ["0", str(len(epochs)), *(f"{epoch} {start}" for epoch, start in epochs)]
    (partition / "leader-epoch-checkpoint").write_text("\n".join(lines) + "\n")
    (partition / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    expected = generator.expected()
    (folder / "expected.json").write_text(json.dumps(vars(expected), indent=1) + "\n")
    return expected


def main() -> None:
    """Write a log as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for field in fields(Shape):
        name = "--" + field.name.replace("_", "-")
        if isinstance(field.default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(name, type=int, default=field.default)
    arguments = vars(parser.parse_args())
    expected = write_log(arguments.pop("folder"), Shape(**arguments))
    print(described(expected))


if __name__ == "__main__":
    main()
