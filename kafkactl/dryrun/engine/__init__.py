"""From metadata logs to images: the engine that a process and a task of Spark run alike."""
