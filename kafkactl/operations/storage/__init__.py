"""Storage: format nodes, read their disks, and say what a start would do."""
