"""What is wrong with a remote log: one module a kind of evidence, each a function from a case to findings."""
