"""Batches and records of the metadata log, as bytes."""
