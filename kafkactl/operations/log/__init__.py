"""The metadata log: load the state that it comes to, and read, check and search its records."""
