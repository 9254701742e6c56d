"""The image of a cluster's metadata: as values, as JSON, as records, as a tree."""
