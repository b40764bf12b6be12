"""Where PyTorch had ``fully_shard`` first."""
