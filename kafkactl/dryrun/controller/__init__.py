"""The active controller, simulated: its rules and its elections."""
