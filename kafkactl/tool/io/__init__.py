"""The host as the tool finds it: processes, usual places, and who could have planted a file."""
