"""What passes are made with."""
