"""The server.properties of every node in every phase."""
