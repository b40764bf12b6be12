"""Tools around tensors that need nothing but their public surface."""
