"""Audit of a remote log: one module for each kind of evidence, each a function from a case to findings."""
