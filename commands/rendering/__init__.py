"""How answers are printed: JSON, plain text, pages on a terminal."""
