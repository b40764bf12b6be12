"""``torch._dynamo.backends``: functions that compile graphs, by name."""
