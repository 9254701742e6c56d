"""The format of a whole fleet: inventory, plan file, checks, receipts."""
