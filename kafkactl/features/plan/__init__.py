"""The plan of a feature change, with every blocker and consequence."""
