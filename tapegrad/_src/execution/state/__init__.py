"""State of the whole process: its fellows, and the cache on disk that is jax's."""
