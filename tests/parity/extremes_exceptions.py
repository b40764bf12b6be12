"""What ``test_extremes.py`` does not compare, and why."""

OTHERWISE = {}
SEEDS = {}
