"""The driver of a roll: the next act, the journey on the engine, and the counted effects. All modules here are pure."""
