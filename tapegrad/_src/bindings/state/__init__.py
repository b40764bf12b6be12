"""State of tensors and of the process that users see and set."""
