"""The driver of a roll: the next act, the journey on the engine, and what is counted. It touches nothing itself."""
