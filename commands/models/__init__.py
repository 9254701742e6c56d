"""The published shape of every answer, as pydantic models; `kafkactl schema KIND` prints their JSON Schema.

Pydantic is imported only when a schema is asked for: commands build plain values, and a test holds those against
the models. Fields are added freely; a field that goes or changes its meaning raises `schema_version`.
"""

from __future__ import annotations

KINDS: dict[str, tuple[str, str]] = {
    "completion": ("kafkactl.commands.models.tool", "Completion"),
    "error": ("kafkactl.commands.models.shared", "Error"),
    "explain": ("kafkactl.commands.models.tool", "Explain"),
    "explain.list": ("kafkactl.commands.models.tool", "ExplainList"),
    "finding": ("kafkactl.commands.models.shared", "Finding"),
    "schema": ("kafkactl.commands.models.tool", "Schema"),
    "schema.list": ("kafkactl.commands.models.tool", "SchemaList"),
}
