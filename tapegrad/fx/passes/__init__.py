"""Passes over graphs: shapes, splitting, matching."""
