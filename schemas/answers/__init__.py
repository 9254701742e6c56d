"""Published JSON Schemas of answers, one file a kind, written by scripts/make_answers.py."""
