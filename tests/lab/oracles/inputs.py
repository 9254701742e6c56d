"""Java and Kafka as an oracle for text: properties files, numbers, hosts, voters, SCRAM arguments."""

from __future__ import annotations

from pathlib import Path

from tests.lab.oracles.messages import Oracle


class InputOracle(Oracle):
    """A JVM with the classes of one release. Questions are those of ``InputOracle.java``."""

    source = Path(__file__).parents[1] / "java" / "InputOracle.java"

    def about(self, question: str, text: str | bytes) -> str | None:
        """Return what came out, None if Java or Kafka throws."""
        kind, _, answer = self.said(question, text).partition(" ")
        return answer if kind == "OK" else None

    def said(self, question: str, text: str | bytes) -> str:
        """Return the whole answer."""
        return self.ask(question, text if isinstance(text, bytes) else text.encode("utf-8"))
