"""In which state a migration is, and by which evidence."""
