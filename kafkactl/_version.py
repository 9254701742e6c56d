"""The released version, and nothing else, so that `--version` costs one small import."""

__version__ = "0.1.0"
