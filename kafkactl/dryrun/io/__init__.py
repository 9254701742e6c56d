"""Tables of a prediction as files."""
