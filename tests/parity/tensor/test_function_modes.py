"""What classes and modes see of a program, attributes and factory functions included, against PyTorch."""

import importlib
import threading
import warnings

import pytest
from case_tables import lines
from harness import agree, attempt, warned
from transcripts import MODULES

import tapegrad
from tapegrad._src.bindings.declaration.handing import overriding
from tapegrad._src.tape.modes import Modes, thread
from tapegrad.ops import arithmetic

pytestmark = pytest.mark.parity


def named(func, torch):
    """A function's name; of an attribute's getter the attribute's, too."""
    if func.__name__ not in ("__get__", "__set__"):
        return func.__name__
    owner = func.__self__
    name = next(name for cls in torch.Tensor.__mro__ for name, item in vars(cls).items() if item is owner)
    return f"{name}.{func.__name__}"


def spies(torch):
    """A class and a mode that note what they are given."""

    class Log(torch.Tensor):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(named(func, torch))
            return super().__torch_function__(func, types, args, kwargs)

    class Spy(importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
        def __init__(self, tag=""):
            self.calls, self.tag = Log.calls, tag

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls.append(self.tag + named(func, torch))
            return func(*args, **(kwargs or {}))

    class S(torch.Tensor):
        pass

    return Log, Spy, S


SPIES = {torch: spies(torch) for torch in MODULES}

ATTRIBUTES = [name for line in """
shape dtype device ndim layout requires_grad grad grad_fn is_leaf output_nr retains_grad data T mT H mH real imag name
itemsize nbytes _base _version _backward_hooks _post_accumulate_grad_hooks is_cuda is_cpu is_sparse is_sparse_csr
is_quantized is_mkldnn is_nested is_meta is_mps is_xpu is_xla is_vulkan
""".splitlines() for name in line.split()]  # fmt: skip

CALLS = """
list(x)
next(iter(x))
a, b = x; (a, b)
x[...], x[0], x[None], x[x > 1]
x.detach(), x.data, x.clone(), x.view(4), x.unbind()
x += 1; x
x *= x; x
x[0] = 1; x
x.data = p; x
x.requires_grad = True; x
x.requires_grad_(); (x * 2).sum().backward(); x.grad
x.requires_grad_(); torch.autograd.grad((x * 2).sum(), x)
p @ x, x @ p, x @ x, p + x, 2 * x, 2 / x, 2 - x, 2**x, -x, +x, abs(x)
x == 1, x != 1, x < 1, 1 < x, x // 2, 2 // x, x % 2, 2 % x, x**2, x / 2, ~(x > 1)
i & i, i | i, i ^ i, i << i, i >> i
x.size(), x.size(0), x.dim(), x.numel(), x.stride(), len(x), x.tolist(), x.is_contiguous()
point.item(), float(point), int(point), bool(point), format(point, ".2f"), repr(x)
torch.stack([x, x]), torch.cat([p, x]), torch.where(x > 1, x, p), torch.zeros_like(x), torch.is_tensor(x)
torch.nn.functional.relu(x), torch.nn.functional.linear(x, x), torch.linalg.inv(x), torch.fft.fft(x), hash(x) is None
torch.as_tensor(x), torch.asarray(x), torch.as_tensor(x, dtype=torch.float64), torch.asarray(x, copy=True)
p.add_(x); p.grad = x; p.grad
"""

FACTORIES = """
torch.ones(2), torch.zeros(2, 3, dtype=torch.float64), torch.tensor([1, 2]), torch.as_tensor([1.0])
torch.asarray([1.0])
torch.arange(3), torch.linspace(0, 1, 3), torch.eye(2), torch.full((2,), 1.0), torch.empty(2), torch.empty_like(x)
torch.rand(2), torch.randn(2), torch.randint(3, (2,)), torch.randperm(3), torch.normal(0.0, 1.0, (2,))
torch.Tensor([1.0]), torch.FloatTensor([1.0]), torch.manual_seed(0), torch.Size([1]), torch.is_tensor(x)
torch.broadcast_shapes((1,), (2,)), torch.get_default_dtype(), torch.is_grad_enabled(), torch.nn.Parameter(x)
torch.autograd.backward((r * 2).sum())
torch.overrides.has_torch_function((x,)), torch.overrides.has_torch_function(())
torch.overrides.has_torch_function_unary(1), torch.overrides.has_torch_function_variadic(x)
"""


def names(torch, make):
    Log, Spy, S = SPIES[torch]
    return {
        "torch": torch, "Log": Log, "Spy": Spy, "S": S, "x": make([[1.0, 2.0], [3.0, 4.0]]), "p": torch.ones(2, 2),
        "i": make([1, 2]).int(), "point": make([2.0])[0], "r": torch.ones(2, requires_grad=True),
    }  # fmt: skip


def kinds(value):
    return [kinds(item) for item in value] if isinstance(value, (tuple, list)) else type(value).__name__


def seen(line, torch, make, watching):
    """The classes of what the last statement gives, and what was noted from the first one on."""
    space, calls = names(torch, make), SPIES[torch][0].calls
    *before, last = line.split("; ")

    def run():
        for statement in before:
            exec(statement, space)
        return kinds(eval(last, space))

    calls.clear()
    with watching:
        result = attempt(run)
    return [result[:2] if "raised" in result else result, list(calls)]


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass


@pytest.mark.filterwarnings("ignore")  # of volatile, of .T of what is no matrix, of copies
@pytest.mark.parametrize("line", [f"x.{name}" for name in ATTRIBUTES] + lines(CALLS))
def test_classes_get(line):
    theirs, ours = (seen(line, torch, SPIES[torch][0], Nothing()) for torch in MODULES)
    assert ours == theirs, f"{ours}\nexpected\n{theirs}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", [f"x.{name}" for name in ATTRIBUTES] + lines(CALLS) + lines(FACTORIES))
def test_modes_get(line):
    theirs, ours = (seen(line, torch, torch.tensor, SPIES[torch][1]()) for torch in MODULES)
    assert ours == theirs, f"{ours}\nexpected\n{theirs}"


def test_classes_keep_their_class():
    def program(torch):
        S = SPIES[torch][2]
        x = S([[1.0, 2.0], [3.0, 4.0]])
        z = torch.tensor([[1 + 1j, 2], [3, 4]]).as_subclass(S)
        first, _ = x
        found = [x.T, x.mT, x.H, x.mH, x.real, z.imag, z.H, first, *x, x[...], x.data, x.detach(), next(iter(z))]
        return [type(item) is S for item in found]

    agree(program)


def test_a_write_to_what_an_attribute_of_a_subclass_gives_is_seen():
    def program(torch):
        x = SPIES[torch][2]([[1.0, 2.0], [3.0, 4.0]])
        x.T[0, 1] = 9
        for row in x:
            row += 1
        x.requires_grad_()
        (x.mT @ x).sum().backward()
        return [x.tolist(), type(x.grad).__name__, x.grad.tolist()]

    agree(program)


# -- modes -----------------------------------------------------------------------------------------------------------


def test_modes_nest():
    """While one has a call, the next one outside gets the calls that it makes."""

    def program(torch):
        Log, Spy, S = SPIES[torch]
        Log.calls.clear()
        with Spy("outer "), Spy("inner "):
            x = torch.ones(2)
            type((x * 2).as_subclass(S) + 1)
        x + 1
        return list(Log.calls)

    agree(program)


def test_a_mode_changes_what_is_computed():
    """Factories that make float64, products that are sums, gradients that pass."""

    def program(torch):
        class Wide(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                kwargs = dict(kwargs or {})
                if func is torch.ones:
                    kwargs["dtype"] = torch.float64
                return torch.add(*args) if func.__name__ == "mul" else func(*args, **kwargs)

        leaf = torch.full((2,), 3.0, requires_grad=True)
        before = leaf * leaf
        with Wide():
            x, y = torch.ones(2), leaf * leaf
            y.sum().backward()
        return [x, y, before, leaf.grad, leaf * leaf]

    agree(program)


def test_classes_and_modes():
    def program(torch):
        Log, Spy, _ = SPIES[torch]
        told = []
        with Spy("mode "):
            for act in (lambda x: x + 1, lambda x: x.shape, lambda x: torch.add(torch.ones(1), x)):
                x = Log([1.0])
                Log.calls.clear()
                act(x)
                told.append(list(Log.calls))
            with torch._C.DisableTorchFunctionSubclass():
                Log.calls.clear()
                x + 1, torch.overrides.has_torch_function((x,)), torch.ones(1)
                told.append(list(Log.calls))
            with torch._C.DisableTorchFunction():
                Log.calls.clear()
                x + 1, torch.ones(1), x.shape
                with Spy("disabled"):
                    torch.ones(1)
                told.append([list(Log.calls), torch.overrides.has_torch_function((x,))])
        return told

    agree(program)


def test_modes_that_do_not_answer():
    def program(torch):
        class No(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return NotImplemented

            def __repr__(self):
                return "No()"

        class Unwritten(torch.overrides.TorchFunctionMode):
            pass

        Log, _, _ = SPIES[torch]
        told = []
        for mode, act in [(No(), lambda: torch.ones(1)), (Unwritten(), lambda: torch.ones(1))]:
            with mode:
                told.append(attempt(act))
        Log.calls.clear()
        x = Log([1.0])
        with No():
            told.append(attempt(lambda: torch.add(x, x)))
        return [told, list(Log.calls), torch.overrides._get_current_function_mode_stack()]

    agree(program)


def test_an_error_leaves_the_modes_as_they_were():
    def program(torch):
        Log, Spy, _ = SPIES[torch]

        class Raises(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                raise ValueError("no")

        told = []
        with Spy("outer "):
            with pytest.raises(ValueError), Raises():
                torch.ones(1)
            Log.calls.clear()
            torch.ones(1)
            told.append([list(Log.calls), torch.overrides._len_torch_function_stack()])
        return [told, torch.overrides._get_current_function_mode(), torch.overrides._len_torch_function_stack()]

    agree(program)


def test_the_stack_as_a_program_sees_it():
    def program(torch):
        overrides, Spy = torch.overrides, SPIES[torch][1]
        spy = Spy()
        with overrides.BaseTorchFunctionMode() as base, spy as entered:
            told = [entered is spy, overrides._get_current_function_mode() is spy]
            told.append(overrides._get_current_function_mode_stack() == [base, spy])
            with overrides._pop_mode_temporarily() as popped:
                told.append([popped is spy, overrides._get_current_function_mode() is base])
            told.append(overrides._len_torch_function_stack())
        return [told, warned(lambda: Spy.push("x")), torch.ones(1)]

    agree(program)


def test_another_thread_has_modes_of_its_own():
    def program(torch):
        Log, Spy, _ = SPIES[torch]
        Log.calls.clear()
        with Spy():
            other = threading.Thread(target=lambda: torch.ones(1) * 2)
            other.start()
            other.join()
        return list(Log.calls)

    agree(program)


def test_wrap_torch_function():
    def program(torch):
        Log, Spy, S = SPIES[torch]

        @torch.overrides.wrap_torch_function(lambda x: (x,))
        def twice(x):
            return x + x

        Log.calls.clear()
        results = [twice(torch.ones(1)), twice(S([1.0])), type(twice(Log([1.0]))).__name__]
        with Spy():
            results.append(twice(torch.ones(1)))
        return [results, list(Log.calls)]

    agree(program)


def test_overridable_functions():
    def program(torch):
        found = torch.overrides.get_overridable_functions()
        expected = [
            (torch, torch.add), (torch, torch.cat), (torch.nn.functional, torch.nn.functional.relu),
            (torch.Tensor, torch.Tensor.add),
            (torch.linalg, torch.linalg.norm), (torch.fft, torch.fft.fft), (torch.special, torch.special.erf),
        ]  # fmt: skip
        told = [function in found[owner] for owner, function in expected]
        absent = [torch.is_tensor in found[torch], torch.tensor in found[torch]]
        return [told, absent, torch.overrides.resolve_name(torch.Tensor.shape.__get__)]

    agree(program)


@pytest.mark.once("looks at plans")
def test_nothing_is_paid_for_modes_that_are_off():
    """A mode leaves no plan behind, and no other modes object."""
    torch = tapegrad
    x, before = torch.ones(3, 5), thread.modes
    active, count = overriding.active, overriding.contexts
    with SPIES[torch][1]():
        assert overriding.active and overriding.contexts == count + 1
        x * x, x * 2.0
        assert not any(key[0].function_modes for key in arithmetic.mul.plans if isinstance(key[0], Modes))
    assert (overriding.active, overriding.contexts, thread.modes) == (active, count, before)


@pytest.mark.once("looks at warnings")
def test_warnings_of_attributes_name_the_line_that_asked():
    torch = tapegrad
    torch.set_warn_always(True)
    try:
        computed = torch.ones(2, requires_grad=True) * 2
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for read in (lambda: torch.ones(2, 3, 4).T, lambda: computed.grad, lambda: torch.ones(2).volatile):
                read()
    finally:
        torch.set_warn_always(False)
    assert len(caught) == 3 and {item.filename for item in caught} == {__file__}
