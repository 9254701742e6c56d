"""Tables of metadata logs as files: `TABLE/cluster=NAME/date=DAY`, written in process or by Spark."""
