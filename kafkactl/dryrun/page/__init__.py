"""The page of a prediction. Pure."""
