"""Bridges to jax and back: its functions on the tape, functions on tensors for it, tensors as its arrays and trees."""

from tapegrad.interop.arrays import from_jax_array, is_tensor, to_arrays, to_tensors
from tapegrad.interop.from_jax import from_jax
from tapegrad.interop.pytrees import register
from tapegrad.interop.to_jax import to_jax
