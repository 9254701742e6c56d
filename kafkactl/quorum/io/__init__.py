"""Quorums on live nodes and on disks: requests that change voters, candidates, and recovery directories."""
