"""Facts of a live cluster that only changes of feature levels need."""
