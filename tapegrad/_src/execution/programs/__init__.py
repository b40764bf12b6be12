"""Programs: how recorded calls are cut up, compiled, remembered and run."""
