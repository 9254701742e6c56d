"""Bytes to values and back: primitives, codecs, record batches, Java properties."""
