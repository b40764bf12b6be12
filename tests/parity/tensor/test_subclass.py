"""Subclasses of Tensor, ``__torch_function__`` and Parameter against PyTorch."""

import pytest
import torch as pytorch
from case_tables import lines
from harness import agree
from transcripts import MODULES, plain, transcript

import tapegrad
import tapegrad.overrides

pytestmark = pytest.mark.parity


def classes(torch):
    """The classes that the lines below speak of."""

    class S(torch.Tensor):
        """Says nothing: results are of its class."""

    class S2(S):
        pass

    class U(torch.Tensor):
        """A stranger to S."""

    class Off(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    class Log(torch.Tensor):
        """Notes the names of the functions it is given."""

        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    class Refuses(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Duck:
        """No tensor, but overrides functions."""

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return f"{func.__name__} of {', '.join(t.__name__ for t in types)}"

    class WithArguments(torch.Tensor):
        def __new__(cls, data, note=None):
            return torch.Tensor._make_subclass(cls, data)

        def __init__(self, data, note=None):
            self.note = note

    class P(torch.nn.Parameter):
        pass

    return {name: value for name, value in locals().items() if isinstance(value, type)}


CLASSES = {module: classes(module) for module in MODULES}


def same_line(line):
    shown = []
    for module in MODULES:
        CLASSES[module]["Log"].calls.clear()
        shown.append(
            plain(str(transcript(module, line, **CLASSES[module]))).replace("test_subclass.classes", "classes")
        )
    theirs, ours = shown
    assert ours == theirs, f"{ours}\nexpected\n{theirs}"


SUBCLASSES = """
S([1, 2]), S(2, 3).shape, S(torch.ones(2)), S(torch.ones(2, dtype=torch.float64)).dtype
type(S([1, 2]) + 1), type(1 + S([1, 2])), type(torch.ones(2) + S([1, 2])), type(S([1, 2]) == 3)
type(S([3, 2]).sum()), type(S([3, 2]).clone()), type(S([3, 2])[0]), type(torch.stack([S([1]), S([2])]))
type(S([3, 2]).data), type(S([3, 2]).detach()), type(S([3, 2]).shape), type(S([3, 2]).grad)
type(S([3, 2]).max(0)[0]), type(S([3, 2]).to(torch.float64)), type(S([3, 2]).new_zeros(3))
type(S([3, 2]).new_tensor([1]))
type(torch.zeros_like(S([3, 2]))), type(torch.tensor(S([3, 2]).tolist())), type(torch.as_tensor(S([1])))
type(S([3, 2]).numpy()), type(S([3, 2]).tolist()), type(S([3]).item())
x = S([3, 2]); x.to(torch.float32) is x, x.requires_grad_() is x, x.requires_grad
x = S([3, 2]); x.add_(1); x
x = S([3, 2]); x += 1; x
x = S([1, 2]); x.foo = 3; (x + 1).foo
x = S([1, 2]).requires_grad_(); x, x.is_leaf
x = S([1, 2]).requires_grad_(); y = x * 2; y, y.grad_fn, y.grad_fn.next_functions[0][0]
x = S([1, 2]).requires_grad_(); (x * x).sum().backward(); x.grad, type(x.grad)
x = S([1, 2]).requires_grad_(); x.grad = torch.ones(2); x.grad
x = torch.ones(2).as_subclass(S); x
x = torch.ones(2, requires_grad=True).as_subclass(S); x, x.grad_fn, x.is_leaf
t = torch.ones(2, requires_grad=True); x = t.as_subclass(S); (x * 3).sum().backward(); t.grad
t = torch.ones(2); x = t.as_subclass(S); x.add_(1); t, t._version, x._version
t = torch.ones(2); x = t.as_subclass(S); type(x.as_subclass(torch.Tensor)), type(x.as_subclass(S2))
t = torch.ones(2); x = t.as_subclass(S); x._base is t, x._is_view()
t = torch.ones(2, requires_grad=True); x = t.as_subclass(S); x.mul_(2)
t = torch.ones(2, requires_grad=True) * 1; x = t.as_subclass(S); x *= 2; t, x, x.grad_fn
t = torch.ones(2, requires_grad=True) * 1; x = t.as_subclass(S); t.mul_(2); x, x.grad_fn
t = torch.zeros(2); x = t.as_subclass(S); x[0] = torch.ones((), requires_grad=True); t, x
t = torch.ones(2, requires_grad=True); x = t.as_subclass(S) * 2; x.add_(1); x.grad_fn, x._is_view()
t = torch.ones(4, requires_grad=True) * 1; x = t.split(2)[0].as_subclass(S); x.mul_(2)
x = torch.ones(2).as_subclass(S); x.detach_()
torch.ones(2).as_subclass(int)
torch.Tensor._make_subclass(S, torch.ones(2))
torch.Tensor._make_subclass(S, torch.ones(2), True).is_leaf
torch.Tensor._make_subclass(S, torch.ones(2, requires_grad=True) * 2, require_grad=True)
t = torch.ones(2); x = torch.Tensor._make_subclass(S, t); t.add_(1); x, x._version
torch.Tensor._make_subclass(int, torch.ones(2))
torch.Tensor._make_subclass(S, 3)
torch.Tensor._make_subclass(S, torch.ones(2, dtype=torch.int64), True)
type(S([1, 2]) + S2([1, 2])), type(S2([1, 2]) + S([1, 2])), type(S2([1, 2]) * 2)
torch.add(S([1, 2]), U([1, 2])) is None
torch.add(Refuses([1]), 1)
type(Off([1, 2]) + 1), Off([1, 2]), type(Off([1, 2]) + S([1, 2]))
x = WithArguments(torch.ones(2), note="hi"); x, x.note, type(x * 2), hasattr(x * 2, "note")
x = S([1, 2]); x.foo = 3; y = copy.copy(x); y, y.foo
format(S([1.5]).sum(), "")
"""

FUNCTIONS = """
x = Log([1, 2]); torch.add(x, 1); x.mul(2); Log.calls
x = Log([1, 2]); x + 1; x.sum(); torch.stack([x, x]); torch.where(x > 1, x, x); Log.calls
x = Log([1, 2]); x.data; x.grad; x.requires_grad; Log.calls
x = Log([1, 2]); x.requires_grad = True; torch.sum(input=x); Log.calls
torch.add(Duck(), 1), torch.sum(Duck()), torch.cat([Duck(), torch.ones(1)]), torch.add(torch.ones(1), Duck())
torch.add(Duck(), S([1])), torch.nn.functional.relu(Duck())
with torch._C.DisableTorchFunctionSubclass(): kind = type(S([1, 2]) + 1); kind
with torch._C.DisableTorchFunction(): kind = type(S([1, 2]) + 1); kind
torch.overrides.has_torch_function((S([1]),)), torch.overrides.has_torch_function((torch.ones(1),))
torch.overrides.has_torch_function((P(torch.ones(1)), Off([1]))), torch.overrides.has_torch_function([])
torch.overrides.has_torch_function_unary(S([1])), torch.overrides.has_torch_function_unary(Duck())
torch.overrides.has_torch_function_variadic(torch.ones(1), S([1]))
torch.overrides.is_tensor_like(S([1])), torch.overrides.is_tensor_like(Duck()), torch.overrides.is_tensor_like(3)
torch.overrides.is_tensor_method_or_property(torch.Tensor.add), torch.overrides.is_tensor_method_or_property(len)
torch.overrides.is_tensor_method_or_property(torch.Tensor.grad.__get__)
torch.overrides.resolve_name(torch.Tensor.new_zeros), torch.overrides.resolve_name(torch.Tensor.grad.__get__)
torch.overrides.resolve_name(torch.stack)
f = lambda x: torch.overrides.handle_torch_function(f, (x,), x); f(Duck())
torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
"""

PARAMETERS = """
x = torch.nn.Parameter(torch.ones(2)); x, type(x * 2), type(x.detach()), type(x.data), type(x.to(torch.float64))
x = torch.nn.Parameter(torch.ones(2)); type(x.to(torch.float32)), x.to(torch.float32) is x
x = torch.nn.Parameter(torch.ones(2), requires_grad=False); x, (x * 2).requires_grad
x = torch.nn.Parameter(torch.ones(2, dtype=torch.int64))
x = torch.nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False); x
torch.nn.Parameter()
torch.nn.Parameter([1.0, 2.0])
torch.nn.Parameter(3)
x = torch.nn.Parameter(torch.ones(2, requires_grad=True) * 2); x, x.is_leaf
t = torch.ones(2); x = torch.nn.Parameter(t); t.add_(1); x, x._version, t._version
t = torch.ones(2); t.mul_(2); x = torch.nn.Parameter(t); x, x._version, t._version
torch.nn.Parameter(torch.nn.Parameter(torch.ones(1)), requires_grad=False)
isinstance(torch.ones(1), torch.nn.Parameter), isinstance(torch.nn.Parameter(torch.ones(1)), torch.Tensor)
t = torch.ones(1); t._is_param = True; isinstance(t, torch.nn.Parameter), isinstance(t, P)
x = torch.nn.Parameter(S([1, 2])); type(x), isinstance(x, torch.nn.Parameter), x.requires_grad, x.is_leaf
p = P(torch.ones(2)); p, type(p * 2), isinstance(p, torch.nn.Parameter), type(copy.deepcopy(p))
torch.nn.Parameter(torch.ones(1)).__class__
str(torch.nn.Parameter(torch.tensor(1.0)))
x = torch.nn.Parameter(torch.ones(2)); (x * x).sum().backward(); x.grad, type(x.grad)
x = torch.nn.Parameter(torch.ones(2)); x.grad_fn, (x * 2).grad_fn.next_functions[0][0].variable is x
b = torch.nn.Buffer(torch.ones(2)); b, type(b), isinstance(b, torch.nn.Buffer), b.persistent
torch.nn.Buffer(torch.ones(2), persistent=False).persistent, torch.nn.Buffer()
"""


@pytest.mark.parametrize("line", lines(SUBCLASSES, FUNCTIONS, PARAMETERS))
def test_line(line):
    same_line(line)


def test_a_class_that_counts_its_calls():
    """A tensor that carries metadata through functions, as tutorials on extending PyTorch have it."""

    def program(torch):
        class Metadata:
            def __init__(self, data, metadata):
                self.data, self.metadata = torch.as_tensor(data), metadata

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                found = tuple(arg.metadata for arg in args if hasattr(arg, "metadata"))
                plain_args = [getattr(arg, "data", arg) if isinstance(arg, Metadata) else arg for arg in args]
                return cls(func(*plain_args, **(kwargs or {})), found[0])

        made = torch.mul(torch.ones(2), Metadata([1.0, 2.0], "m"))
        return [made.data, made.metadata, type(made).__name__]

    agree(program)


@pytest.mark.once("a process of its own knows nothing of this one's execution")
def test_overrides_cost_nothing_until_a_class_exists():
    import subprocess
    import sys

    program = (
        "import tapegrad, tapegrad.nn; from tapegrad._src.bindings.declaration.handing import overriding; "
        "from tapegrad.nn.parameter import Parameter; p = Parameter(tapegrad.ones(1)); "
        "assert not overriding.active and not p._spec.overrides; "
        "S = type('S', (tapegrad.Tensor,), {}); assert overriding.active and S([1])._spec.overrides"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_pytorch_is_the_oracle():
    assert MODULES[0] is pytorch
    assert tapegrad.overrides.has_torch_function([CLASSES[tapegrad]["S"]([1])])
