"""Rooms that are no part of PyTorch's namespace, and of ours: nothing here is public."""
