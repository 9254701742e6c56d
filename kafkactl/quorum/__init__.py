"""The voter set of a KRaft quorum."""
