"""The files of the metadata log: frames, batches, checkpoints, voters, registrations."""
