"""``torch.masked.MaskedTensor`` beside PyTorch's: what it shows, computes and refuses, and its gradients."""

import copy
import importlib
import pickle

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = [
    pytest.mark.parity, pytest.mark.once("composed of what runs in all ways"), pytest.mark.filterwarnings("ignore")
]  # fmt: skip

DATA = np.random.default_rng(0).uniform(0.1, 0.9, (2, 3))
MASK = np.array([[True, False, True], [False, False, True]])
ROWS = np.array([[True, True, False], [False, False, False]])


class Given:
    """What programs take: masked leaves, a plain one, and masks."""

    def __init__(self, m):
        self.m, self.mk = m, importlib.import_module(f"{m.__name__}.masked")
        self.mask, self.rows = m.tensor(MASK), m.tensor(ROWS)
        self.x = self.mk.masked_tensor(m.tensor(DATA), self.mask, requires_grad=True)
        self.y = m.tensor(DATA.T.reshape(2, 3).copy(), requires_grad=True)
        self.part = self.mk.masked_tensor(m.tensor(DATA), self.rows, requires_grad=True)


UNARY = ["exp", "log", "sqrt", "sin", "neg", "tan", "square", "isnan", "erf"]
BINARY = ["add", "mul", "div", "sub", "lt"]
REDUCTIONS = ["sum", "mean", "amax", "amin", "prod", "std", "var", "all", "argmax"]

PROGRAMS = {
    **{name: (lambda g, name=name: getattr(g.m, name)(g.x)) for name in UNARY},
    **{f"{name} of two": (lambda g, name=name: getattr(g.x, name)(g.x * 0.5)) for name in BINARY},
    **{f"{name} of all": (lambda g, name=name: getattr(g.x, name)()) for name in REDUCTIONS},
    **{f"{name} of rows": (lambda g, name=name: getattr(g.part, name)(dim=1)) for name in REDUCTIONS if name != "std"},
    "kept dimensions": lambda g: g.m.sum(g.part, 1, keepdim=True),
    "a number": lambda g: (2 * g.x + 1) ** 2,
    "a plain tensor": lambda g: g.x * g.y,
    "a plain tensor before": lambda g: g.y * g.x,
    "of a history": lambda g: g.mk.as_masked_tensor(g.y.exp(), g.mask) * 2,
    "a softmax": lambda g: g.x.softmax(1),
    "views": lambda g: g.x.detach().t().unsqueeze(0),
    "parts": lambda g: g.x.detach().split(1)[1],
    "a row": lambda g: g.x.detach()[1].expand(2, 3),
    "pieces together": lambda g: g.m.cat([g.x, g.part]),
    "a choice": lambda g: g.m.where(g.mask, g.x.detach(), g.part.detach()),
    "detached": lambda g: g.x.detach().sqrt_(),
    "another dtype": lambda g: g.x.to(g.m.float32),
    "filled": lambda g: g.x.to_tensor(7.0),
    "ones": lambda g: g.m.ones_like(g.x),
    "a comparison": lambda g: g.x > 0.5,
    "integers": lambda g: g.mk.masked_tensor(g.m.arange(6).reshape(2, 3), g.mask),
    "a number alone": lambda g: g.x.sum().item(),
    "integers of floats": lambda g: (g.x.detach() * 9).int(),
    "half of floats": lambda g: g.x.half(),
    "a column": lambda g: g.x.detach()[:, 1:],
    "an element": lambda g: g.x.detach()[0, 1],
    "chosen rows": lambda g: g.x.detach()[[1, 0, 1]],
    "chosen elements": lambda g: g.x.detach()[g.mask],
    "on top of one another": lambda g: g.m.stack([g.x, g.part], 1),
    "a square, transposed": lambda g: g.part.detach()[:, :2].mT,
    "pickled": lambda g: pickle.loads(pickle.dumps(g.x)),
    "copied": lambda g: copy.deepcopy(g.x),
    "asked for": lambda g: g.m.autograd.grad((g.x * g.x).sum(), g.x)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    found = []
    for m in (torch, tapegrad):
        given = Given(m)
        out = PROGRAMS[name](given)
        is_tensor = isinstance(out, m.Tensor)
        if is_tensor and out.requires_grad:
            (out * 2).sum().backward()
        grads = [repr(one.grad) for one in (given.x, given.part)]
        plain = None if given.y.grad is None else np.where(MASK, masked_out(given.y.grad), 0)
        masked = given.mk.is_masked_tensor(out)
        found.append((masked, repr(out).partition("grad_fn")[0], is_tensor and str(out.dtype), grads, plain))
    assert found[1][:4] == found[0][:4]
    np.testing.assert_allclose(*([] if one[4] is None else one[4] for one in found))


def masked_out(grad):
    return (grad.get_data() if hasattr(grad, "get_data") else grad).numpy()


def test_gradients_that_are_asked_for():
    found = []
    for m in (torch, tapegrad):
        given = Given(m)
        out = given.mk.as_masked_tensor(given.y, given.mask).exp().sum()
        found.append(np.where(MASK, masked_out(m.autograd.grad(out, given.y)[0]), 0))
    np.testing.assert_allclose(*found)


REFUSED = {
    "other masks": lambda g: g.x * g.part,
    "a mask of fewer dimensions": lambda g: g.mk.masked_tensor(g.y, g.mask[0]),
    "a mask of another shape": lambda g: g.mk.masked_tensor(g.y, g.mask[:1]),
    "a mask of integers": lambda g: g.mk.masked_tensor(g.y, g.mask.int()),
    "data that is no tensor": lambda g: g.mk.masked_tensor([1], g.mask),
    "a mask that is no tensor": lambda g: g.mk.masked_tensor(g.y, [1]),
    "a masked tensor of one": lambda g: g.mk.masked_tensor(g.x, g.mask),
    "a list": lambda g: g.x.tolist(),
    "an array": lambda g: g.x.detach().numpy(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    found = []
    for m in (torch, tapegrad):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            REFUSED[name](Given(m))
        found.append((type(caught.value), str(caught.value)))
    assert found[1] == found[0]


def test_what_is_not_supported_is_refused():
    for m in (torch, tapegrad):
        for call in (lambda g: g.m.sort(g.x), lambda g: g.m.matmul(g.x, g.x.t()), lambda g: g.x.max(),
                     lambda g: g.x.detach().__setitem__(0, 1.0)):  # fmt: skip
            with pytest.raises((TypeError, ValueError)):
                call(Given(m))


def test_what_is_not_recommended_warns():
    for m in (torch, tapegrad):
        given = Given(m)
        for make in (given.mk.masked_tensor, given.mk.as_masked_tensor):
            with pytest.warns(UserWarning, match="It is not recommended to create a MaskedTensor"):
                make(given.y, given.mask)


def test_copies_of_leaves_are_leaves():
    for m in (torch, tapegrad):
        given = Given(m)
        made = copy.deepcopy(given.x)
        made.sum().backward()
        assert made.is_leaf and made.requires_grad and made.grad is not None and given.x.grad is None
