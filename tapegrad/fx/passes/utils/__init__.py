"""Parts of which passes are made."""
