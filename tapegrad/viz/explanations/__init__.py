"""Explanations of a tape: what it costs, what it keeps, where a nan came from, why a gradient isn't there."""
