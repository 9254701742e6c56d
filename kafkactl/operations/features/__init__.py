"""Feature levels of a live cluster: describe, plan, change and prove them."""
