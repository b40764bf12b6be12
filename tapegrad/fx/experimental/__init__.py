"""``torch.fx.experimental``: what imports ask of it."""
