"""Values that every package uses: errors, findings, answers, names, texts. Pure."""
