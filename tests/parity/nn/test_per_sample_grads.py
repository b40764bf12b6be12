"""``call_for_per_sample_grads``: gradients of parameters by sample."""

import importlib

import pytest
from harness import agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.once("transforms choose for themselves when they run")]

CASES = {
    "a matrix for each sample": ("nn.Linear(3, 2)", (4, 5, 3), {"loss_reduction": "mean"}),
    "vectors": ("nn.Linear(3, 2, bias=False)", (4, 3), {}),
    "conv1d": ("nn.Conv1d(4, 2, 2)", (3, 4, 5), {}),
    "conv2d": ("nn.Conv2d(4, 4, (1, 3), padding='same', groups=2)", (3, 4, 5, 5), {}),
    "conv3d": ("nn.Conv3d(2, 2, 2, stride=2)", (2, 2, 3, 4, 4), {}),
    "layer norm": ("nn.LayerNorm(3)", (4, 2, 3), {}),
    "group norm": ("nn.GroupNorm(2, 4)", (3, 4, 5), {}),
    "instance norm": ("nn.InstanceNorm1d(4, affine=True)", (3, 4, 5), {}),
    "embedding": ("nn.Embedding(5, 3, padding_idx=1)", None, {}),
    "several": ("nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 1))", (4, 3), {}),
    "another kind": ("nn.BatchNorm1d(3)", (4, 3), {}),
    "no batch": ("nn.Linear(3, 2)", (3,), {}),
    "no samples": ("nn.Linear(3, 2)", (0, 3), {}),
    "another size": ("nn.Linear(3, 2)", (4, 3), {"batch_size": 3}),
    "size zero": ("nn.Linear(3, 2)", (4, 3), {"batch_size": 0}),
    "a size that is no number": ("nn.Linear(3, 2)", (4, 3), {"batch_size": "a"}),
    "another reduction": ("nn.Linear(3, 2)", (4, 3), {"loss_reduction": "max"}),
    "samples in the second place": ("nn.LayerNorm(3)", (3, 3), {"batch_first": False}),
}


def weighed(torch, x):
    return (x * torch.arange(float(x.numel())).reshape(x.shape)).sum()


@pytest.mark.parametrize("case", CASES)
def test_program(case):
    text, shape, settings = CASES[case]

    def program(torch):
        call = importlib.import_module(f"{torch.__name__}.nn.utils._per_sample_grad").call_for_per_sample_grads
        module = eval(text, {"nn": torch.nn})
        for parameter in module.parameters():
            parameter.data = torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape)
        x = torch.tensor([[1, 2], [0, 1]])
        if shape:
            x = (torch.arange(float(torch.Size(shape).numel())) ** 2).sin().reshape(shape).requires_grad_()
        kept, parameters = x.detach().clone(), list(module.parameters())

        def run():
            weighed(torch, call(module, **settings)(x)).backward()
            return [parameter.grad_sample for parameter in parameters], [parameter.grad for parameter in parameters]

        first = attempt(run)
        again = attempt(run)
        return first, x.grad, again[0] if isinstance(again, tuple) else again, kept

    agree(program, rtol=1e-4, atol=1e-4)


def test_what_is_no_module():
    def program(torch):
        call = importlib.import_module(f"{torch.__name__}.nn.utils._per_sample_grad").call_for_per_sample_grads
        linear = torch.nn.Linear(1, 1)
        named = attempt(lambda: call(print)), attempt(lambda: call(linear)(3))
        linear.weight.requires_grad_(False)
        call(linear)(torch.ones(2, 1)).sum().backward()
        return [*named, linear.bias.grad_sample, hasattr(linear.weight, "grad_sample")]

    agree(program)
