"""The click layer: parse, call once, show. It holds no idea of its own."""
