"""Questions of a status: each on a thread and with a deadline of its own."""
