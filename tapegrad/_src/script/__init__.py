"""``python -m tapegrad SCRIPT``: runs a program written for PyTorch."""
