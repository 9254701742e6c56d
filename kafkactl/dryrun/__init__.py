"""What would happen: the active controller's own rules played on the cluster's own log, before anything is done."""
