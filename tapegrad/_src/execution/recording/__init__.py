"""Recording: calls that are put into a program in place of being made."""
