"""Facts of a release that decide a roll: what it refuses, ignores, needs and registers, from the tables in `schemas/`.

A new release is a column of these tables (scripts/import_*.py read it from its jars) and a row in schemas/features.
"""
