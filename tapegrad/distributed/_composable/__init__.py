"""The place where PyTorch had ``fully_shard`` first."""
