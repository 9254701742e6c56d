"""The metadata log as values: record frames and checkpoints."""
