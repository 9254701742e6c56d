"""What a hook is asked, and ready-made hooks."""
