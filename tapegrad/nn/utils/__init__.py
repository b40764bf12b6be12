"""``torch.nn.utils``: what is done to the parameters of modules, and to their gradients."""

from tapegrad.nn.utils import rnn
from tapegrad.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tapegrad.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from tapegrad.nn.utils.init import skip_init

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "skip_init",
    "vector_to_parameters",
]
