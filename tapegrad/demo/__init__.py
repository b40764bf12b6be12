"""The demonstration behind ``python -m tapegrad``: a small convolutional network learns handwritten digits.

It uses tapegrad as any program would (``import tapegrad as torch``) and lays every gradient beside ``jax.grad``'s.
"""
