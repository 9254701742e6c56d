"""Recover a metadata quorum that lost its majority: plan from directories, write one new one, check the result."""
