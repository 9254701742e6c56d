"""Output of answers: JSON, plain text, pages on a terminal."""
