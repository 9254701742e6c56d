"""The tool itself: explanations, schemas of answers."""
