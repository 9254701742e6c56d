"""The released version and that of the JSON answers, and nothing else, so that `--version` costs one small import."""

__version__ = "0.1.0"
SCHEMA_VERSION = 1
