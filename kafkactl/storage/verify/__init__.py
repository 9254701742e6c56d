"""Will a node start from its disks, and what would it lose?"""
