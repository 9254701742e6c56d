"""Replay: the fold of metadata records into an image, by records and by batches."""
