"""What all long changes share: clock, deadline, and the lines of their journals."""
