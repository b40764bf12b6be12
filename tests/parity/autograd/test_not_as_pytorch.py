"""Derivatives of PyTorch's that are none, and are not followed: its own check refuses them, and accepts ours."""

import numpy as np
import pytest
import torch as pytorch
from samples import array

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]  # PyTorch compiles by a way it warns of

FACTOR = np.tril(array(3, 3)) + 2 * np.eye(3)

FUNCTIONS = {
    "as_strided_scatter": (
        lambda torch, x, source: torch.as_strided_scatter(x, source, (2, 2), (1, 2), 1),
        array(3, 3), array(2, 2, seed=1),
    ),
    "the tangent of cholesky_inverse": (lambda torch, x: torch.cholesky_inverse(x.tril()), FACTOR),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_ours_is_the_derivative(case):
    function, *arrays = FUNCTIONS[case]

    def check(torch):
        inputs = [torch.tensor(one, requires_grad=True) for one in arrays]
        return torch.autograd.gradcheck(lambda *leaves: function(torch, *leaves), inputs, check_forward_ad=True)

    assert check(tapegrad)
    with pytest.raises(RuntimeError, match="Jacobian .*mismatch"):
        check(pytorch)
