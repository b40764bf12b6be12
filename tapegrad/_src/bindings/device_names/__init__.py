"""PyTorch's names for devices, their streams and their memory."""
