"""What all long changes share: their journals."""
