"""Bad input: the same mistakes give the same errors, and afterwards tensors, graph and modes are as they were."""

import numpy as np
import pytest
from harness import agree, attempt

pytestmark = pytest.mark.parity


class Scene:
    """Tensors to make mistakes with, and what can be seen of them."""

    def __init__(self, torch):
        self.torch = torch
        self.x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        self.w = torch.tensor([1.0, -1.0, 0.5], requires_grad=True)
        self.d = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        self.z = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
        self.c = torch.tensor([1.0, 2.0, 3.0])
        self.i = torch.tensor([1, 2, 3])
        self.b = torch.tensor([True, False, True])
        self.y = self.x * self.w
        self.loss = (self.y * self.y).sum()

    def seen(self):
        """Values, gradients, versions, nodes of all tensors, and the modes."""
        tensors = {name: item for name, item in vars(self).items() if isinstance(item, self.torch.Tensor)}
        states = [
            [name, t, t.grad if t.is_leaf else None, t._version, t.requires_grad, t.is_leaf]
            for name, t in tensors.items()
        ]
        modes = [self.torch.is_grad_enabled(), str(self.torch.get_default_dtype())]
        return [states, modes, id(self.y.grad_fn) == self.node]

    def make(self, mistake):
        """The error, whether anything has changed, and whether the graph still works."""
        self.node = id(self.y.grad_fn)
        before = self.seen()
        error = attempt(lambda: mistake(self.torch, self))
        assert isinstance(error, list) and error[0] == "raised", f"no mistake: {error}"
        after = self.seen()
        self.loss.backward()
        return error, before, after, self.x.grad, self.w.grad


MISTAKES = {
    # of tensors that have too few dimensions
    "unbind of no dimension": lambda torch, s: s.w[0].unbind(-1),
    "take_along_dim of no dimension": lambda torch, s: torch.take_along_dim(s.w[0], s.i[0], -1),
    "classes in no dimension": lambda torch, s: torch.nn.functional.multilabel_soft_margin_loss(s.w[0], s.w[0]),
    "channels in one dimension": lambda torch, s: torch.nn.functional.batch_norm(s.w, None, None, training=True),
    "take from nothing": lambda torch, s: s.w[:0].take(s.i),
    # backward and grad
    "backward of several elements": lambda torch, s: s.y.backward(),
    "backward of an integer tensor": lambda torch, s: s.i.sum().backward(),
    "backward of a constant": lambda torch, s: s.c.sum().backward(),
    "backward of a complex scalar": lambda torch, s: s.z.sum().backward(),
    "backward of a detached result": lambda torch, s: s.loss.detach().backward(),
    "a seed of the wrong shape": lambda torch, s: s.y.backward(torch.ones(3, 2)),
    "a seed that would broadcast": lambda torch, s: s.y.backward(torch.ones(3)),
    "a seed with more dimensions": lambda torch, s: s.loss.backward(torch.ones(1)),
    "a seed that is a number": lambda torch, s: s.loss.backward(1.0),
    "a seed that is a list": lambda torch, s: s.y.backward([1.0, 2.0]),
    "a complex seed": lambda torch, s: s.loss.backward(torch.tensor(1j)),
    "a real seed of a complex result": lambda torch, s: (s.z * 2).backward(torch.ones(2)),
    "too few seeds": lambda torch, s: torch.autograd.grad([s.loss, s.y.sum()], s.x, [torch.tensor(1.0)]),
    "inputs that are empty": lambda torch, s: s.loss.backward(inputs=[]),
    "inputs that need no gradient": lambda torch, s: s.loss.backward(inputs=[s.c]),
    "grad with respect to a constant": lambda torch, s: torch.autograd.grad(s.loss, s.c),
    "grad with respect to nothing": lambda torch, s: torch.autograd.grad(s.loss, []),
    "grad with respect to what was not used": lambda torch, s: torch.autograd.grad(s.loss, s.d, retain_graph=True),
    "grad of a constant": lambda torch, s: torch.autograd.grad(s.c.sum(), s.x),
    "contradicting arguments": lambda torch, s: torch.autograd.grad(
        s.loss, s.d, allow_unused=False, materialize_grads=True
    ),
    "a batch of seeds of the wrong shape": lambda torch, s: torch.autograd.grad(
        s.y, s.x, torch.ones(4, 3, 2), is_grads_batched=True
    ),
    # tensors that ask for gradients
    "an integer tensor asks for a gradient": lambda torch, s: torch.tensor([1, 2], requires_grad=True),
    "a bool tensor asks for a gradient": lambda torch, s: s.b.requires_grad_(),
    "an integer tensor is told to": lambda torch, s: setattr(s.i, "requires_grad", True),
    "ones of an integer type": lambda torch, s: torch.ones(2, dtype=torch.int32, requires_grad=True),
    "an integer range": lambda torch, s: torch.arange(3, requires_grad=True),
    "a result is told not to": lambda torch, s: s.y.requires_grad_(False),
    "a result is told not to, by assignment": lambda torch, s: setattr(s.y, "requires_grad", False),
    "retain_grad of a constant": lambda torch, s: s.c.retain_grad(),
    "register_hook on a constant": lambda torch, s: s.c.register_hook(print),
    # .grad
    "a gradient of the wrong shape": lambda torch, s: setattr(s.x, "grad", torch.ones(3)),
    "a gradient of the wrong type": lambda torch, s: setattr(s.x, "grad", torch.ones(2, 3, dtype=torch.float64)),
    "a gradient that is a number": lambda torch, s: setattr(s.x, "grad", 1.0),
    "a tensor as its own gradient": lambda torch, s: setattr(s.x, "grad", s.x),
    # writing
    "in-place on a leaf": lambda torch, s: s.x.add_(1),
    "augmented assignment on a leaf": lambda torch, s: s.x.__iadd__(1),
    "in-place with a result that doesn't fit": lambda torch, s: s.c.add_(torch.ones(2, 3)),
    "in-place with a type that doesn't fit": lambda torch, s: s.i.add_(1.5),
    "in-place with a complex number": lambda torch, s: s.c.mul_(1j),
    "out= of something that requires grad": lambda torch, s: torch.add(s.x, 1, out=torch.zeros(2, 3)),
    # shapes
    "shapes that do not broadcast": lambda torch, s: s.x + torch.ones(2),
    "shapes that do not broadcast, product": lambda torch, s: s.x * torch.ones(4, 3),
    "matrices that do not fit": lambda torch, s: s.x @ s.x,
    "matrix and vector that do not fit": lambda torch, s: s.x @ torch.ones(2),
    "vectors that do not fit": lambda torch, s: torch.dot(s.w, torch.ones(2)),
    "mm of vectors": lambda torch, s: torch.mm(s.w, s.w),
    "matrices of different types": lambda torch, s: s.x @ s.d,
    "a dimension out of range": lambda torch, s: s.x.sum(2),
    "a dimension out of range, negative": lambda torch, s: s.x.mean(-3),
    "a dimension twice": lambda torch, s: s.x.sum((0, 0)),
    "a shape of another size": lambda torch, s: s.x.reshape(4),
    "a view of another size": lambda torch, s: s.x.view(-1, 4),
    "two unknown lengths": lambda torch, s: s.x.view(-1, -1),
    "joining what does not fit": lambda torch, s: torch.cat([s.x, torch.ones(2, 2)]),
    "stacking what does not fit": lambda torch, s: torch.stack([s.x, s.w]),
    "joining nothing": lambda torch, s: torch.cat([]),
    "expanding what does not fit": lambda torch, s: s.x.expand(2, 4),
    "a permutation that is none": lambda torch, s: s.x.permute(0, 0),
    "an index out of range": lambda torch, s: s.x[2],
    "too many indices": lambda torch, s: s.x[0, 0, 0],
    "an index tensor out of range": lambda torch, s: s.x[torch.tensor([0, 5])],
    "a mask of another shape": lambda torch, s: s.x[torch.tensor([True, False, True])],
    "an index that is a float": lambda torch, s: s.x[1.5],
    "largest of nothing": lambda torch, s: torch.zeros(0).max(),
    "item of several": lambda torch, s: s.x.item(),
    "truth of several": lambda torch, s: bool(s.x > 1),
    "float of several": lambda torch, s: float(s.x),
    # types
    "the mean of integers": lambda torch, s: s.i.mean(),
    "softmax of integers": lambda torch, s: s.i.softmax(0),
    "numpy of something that requires grad": lambda torch, s: s.x.numpy(),
    "numpy of a result": lambda torch, s: s.y.numpy(),
    "numpy of bfloat16": lambda torch, s: s.c.bfloat16().numpy(),
    "an array of strings": lambda torch, s: torch.from_numpy(np.array(["a", "b"])),
    "an array of objects": lambda torch, s: torch.tensor(np.array([None, 1], dtype=object)),
    "an array of dates": lambda torch, s: torch.from_numpy(np.array(["2020-01-01"], dtype="datetime64[D]")),
    "not an array": lambda torch, s: torch.from_numpy([1.0]),
    "a list of strings": lambda torch, s: torch.tensor(["a"]),
    "a ragged list": lambda torch, s: torch.tensor([[1.0, 2.0], [3.0]]),
    "None as a number": lambda torch, s: torch.tensor([1.0, None]),
    "addition of a string": lambda torch, s: s.x + "a",
    "addition of None": lambda torch, s: None + s.x,
    "a product with a list": lambda torch, s: s.x * [1.0, 2.0, 3.0],
    "a function of a list": lambda torch, s: torch.exp([1.0]),
    "a function of a number": lambda torch, s: torch.sum(1.0),
    "bitwise and of floats": lambda torch, s: s.c & s.c,
    "subtraction of bools": lambda torch, s: s.b - s.b,
    "negation of bools": lambda torch, s: -s.b,
    "complex numbers in order": lambda torch, s: s.z < s.z,
    "complex relu": lambda torch, s: torch.relu(s.z),
    "where of a number condition": lambda torch, s: torch.where(s.c, s.c, s.c),
    "a default dtype that is none": lambda torch, s: torch.set_default_dtype(torch.int32),
    # modes
    "set_grad_enabled of a string": lambda torch, s: torch.set_grad_enabled("no"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name):
    agree(lambda torch: Scene(torch).make(MISTAKES[name]))


def fails(torch, function):
    with torch.no_grad():
        function()


@pytest.mark.parametrize("name", ["shapes that do not broadcast", "an index out of range", "a ragged list"])
def test_modes_after_a_mistake_inside_no_grad(name):
    def program(torch):
        scene = Scene(torch)
        error = attempt(lambda: fails(torch, lambda: MISTAKES[name](torch, scene)))
        return error, torch.is_grad_enabled()

    agree(program)


def test_an_error_in_the_middle_of_backward():
    """What ran before the failing node has accumulated; the modes are restored; another graph still works."""

    def program(torch):
        x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
        broken = torch._C._functions.DelayedError("not this one", 1)(x * x)
        loss = broken + y.exp()
        error = attempt(lambda: loss.backward())
        account = [error, torch.is_grad_enabled(), x.grad, y.grad]
        y.grad = None
        (y * y).backward()
        return account, y.grad

    agree(program)


@pytest.mark.parametrize("create_graph", [False, True])
def test_an_error_after_a_retained_backward(create_graph):
    def program(torch):
        x = torch.tensor(2.0, requires_grad=True)
        y = x.exp()
        first = torch.autograd.grad(y, x, create_graph=create_graph, retain_graph=True)
        torch.autograd.grad(y, x)
        return first[0].detach(), attempt(lambda: torch.autograd.grad(y, x)), torch.is_grad_enabled(), x.grad

    agree(program)


def test_the_second_backward_says_so():
    def program(torch):
        s = Scene(torch)
        s.loss.backward()
        return attempt(lambda: s.loss.backward()), attempt(lambda: torch.autograd.grad(s.y.sum(), s.x)), s.x.grad

    agree(program)


@pytest.mark.parametrize("position", range(2), ids=["left", "right"])
def test_a_saved_tensor_that_was_written(position):
    def program(torch):
        s = Scene(torch)
        a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0])
        product = (a * s.w if position else s.w * b).sum()
        (a if position else b).add_(1)
        error = attempt(lambda: product.backward())
        return error, s.w.grad, a, b

    agree(program)


def test_a_result_that_was_saved_and_written():
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        total = y.sum()
        with torch.no_grad():
            y.mul_(2)
        return attempt(lambda: total.backward()), x.grad, y.detach()

    agree(program)


def test_devices_that_do_not_exist():
    def program(torch):
        return [
            attempt(lambda: torch.device("nonsense"))[:2],
            attempt(lambda: torch.ones(2, device="nonsense"))[:2],
        ]

    agree(program)


def test_meeting_of_devices():
    """PyTorch's meta device stands for a second device; ours are JAX's, so only the kind of error is compared."""
    from tapegrad._src.dispatch.planning import check_devices
    from tapegrad._src.execution.data.devices import device
    from tapegrad._src.execution.data.dtypes import float32
    from tapegrad._src.tensor.spec import Spec

    here, there = (Spec.of((2,), float32, device(name)) for name in ("cpu", "cuda:0"))
    point = Spec.of((), float32, device("cpu"))
    check_devices((here, here, None, float))
    check_devices((point, there))
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
        check_devices((here, there))


@pytest.mark.parametrize("line", [
    "x.addmm_(bad, bad)", "x.addr_(bad, bad)", "x.addr_(bad[0], bad)", "x.sub_(True)", "x.fill_(torch.ones(2))",
    "x.normal_(std=-1)", "x.uniform_(2, 1)", "x.exponential_(-1)", "x.geometric_(3)", "x.cauchy_(sigma=-1)",
])  # fmt: skip
@pytest.mark.parametrize("made", ["", ".requires_grad_()", ".requires_grad_()[:]"])
def test_a_leaf_is_refused_before_the_operands(line, made):
    def program(torch):
        x, bad = eval(f"torch.ones(2, 3){made}"), torch.ones(3, 3)
        return attempt(lambda: eval(line, {"x": x, "bad": bad, "torch": torch}))

    agree(program)
