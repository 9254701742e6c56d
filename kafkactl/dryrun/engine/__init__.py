"""Engine from metadata logs to images, the same in a process and in a task of Spark."""
