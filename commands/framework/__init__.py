"""What every command is made of: options, settings, connections, deadlines, failures."""
