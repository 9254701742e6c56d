"""The Spark engine: logs of any number of clusters in one job."""
