"""What a formatted node looks like, as bytes: plan a format, verify a disk."""
