"""The tool itself: contexts, completion, explanations."""
