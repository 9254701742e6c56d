"""Building blocks of every command: options, settings, connections, deadlines, failures."""
