"""From metadata logs to images: the local engine and what it shares with Spark."""
