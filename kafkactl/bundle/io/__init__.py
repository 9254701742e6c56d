"""Bundles on disk: one archive written whole, and read with a bound on everything."""
