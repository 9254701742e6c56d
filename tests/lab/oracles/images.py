"""Kafka's own metadata image as an oracle: `ImageOracle.java` on the class path of a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kafkactl.metadata.image.model import LogRecord
from kafkactl.protocol.log.frame import decode_record
from tests.lab.oracles.messages import Oracle


class ImageOracle(Oracle):
    """Reader of segments and checkpoints by the classes of a release."""

    source = Path(__file__).parents[1] / "java" / "ImageOracle.java"

    def records_of_image(self, files: Sequence[Path], scratch: Path) -> list[LogRecord]:
        """Return the records that Kafka writes for the image at the end of these files, read in this order."""
        return self._records("written", files, scratch)

    def records_read(self, files: Sequence[Path], scratch: Path) -> list[LogRecord]:
        """Return the same of the image that Kafka's loader makes of these files in a single read, as at a start."""
        return self._records("read", files, scratch)

    def _records(self, question: str, files: Sequence[Path], scratch: Path) -> list[LogRecord]:
        out = scratch / "records.hex"
        answer = self.ask(question, str(out), *map(str, files))
        assert answer.startswith("OK"), answer
        lines = out.read_text(encoding="ascii").splitlines()
        assert answer == f"OK {len(lines)}"
        return [LogRecord(at, 0, 0, decode_record(bytes.fromhex(line))) for at, line in enumerate(lines)]

    def same(self, checkpoint: Path, end_offset: int, epoch: int, files: Sequence[Path]) -> str:
        """Return `equal`, or `differs` and in what: Kafka's image of our checkpoint against its image of the files."""
        answer = self.ask("same", str(checkpoint.parent), str(end_offset), str(epoch), *map(str, files))
        assert answer.startswith("OK "), answer
        return answer.removeprefix("OK ")
