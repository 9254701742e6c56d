"""The page and the style sheet of reports."""
