"""Parts that passes over graphs have in common."""
