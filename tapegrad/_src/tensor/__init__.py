"""The tensor as state: its value or storage, its spec, how it prints. It does not know which operators exist."""
