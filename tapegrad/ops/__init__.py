"""The table of operators: a kernel and one formula per input each, in families. See ``operator.py``."""
