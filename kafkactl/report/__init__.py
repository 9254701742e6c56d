"""Drawing of predictions for people: one model, and a single HTML file made from it."""
