"""The format of one node: arguments, rules, and the exact bytes of every file."""
