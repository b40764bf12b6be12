"""The nodes of the graph that belong to operators and leaves, what they keep, and what becomes of their gradients."""
