"""Common part of all long changes: engine, clock, deadline, and the lines of their journals."""
