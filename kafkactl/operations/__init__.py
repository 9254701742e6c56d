"""The use cases: one function wires adapters to what is planned, for one command."""
