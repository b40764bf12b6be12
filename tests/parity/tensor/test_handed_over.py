"""What classes and modes that override functions are handed, down to which function, against PyTorch.

For each call: who is asked and in which order, under which names of the vocabulary the function is found, the classes,
the arguments by position and by name.
"""

import importlib
import inspect
import operator as python

import numpy as np
import pytest
from harness import agree, attempt
from transcripts import MODULES, plain

from tapegrad._src.bindings.declaration.handing import overriding

pytestmark = [pytest.mark.parity, pytest.mark.once("who is asked does not depend on who computes")]

REFLECTED = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor"]
COMPARED = ["eq", "ne", "lt", "le", "gt", "ge"]
HOMES = {"torch": "", "F": "nn.functional"} | {name: name for name in ("linalg", "fft", "special", "autograd")}


def names_by_function(torch):
    """Under which names of the vocabulary a function is found."""
    found: dict[int, tuple[list, object]] = {}
    for cls in torch.Tensor.__mro__[:-1]:
        for key, item in vars(cls).items():
            found.setdefault(id(item), ([], item))[0].append(f"Tensor.{key}")
    for home, path in HOMES.items():
        module = torch if not path else importlib.import_module(f"{torch.__name__}.{path}")
        for key, item in vars(module).items():
            if callable(item):
                found.setdefault(id(item), ([], item))[0].append(f"{home}.{key}")
    return found


class Handed:
    """What is handed over on a module: ``calls`` is what was noted."""

    def __init__(self, torch):
        self.torch, self.calls = torch, []
        self.names = names_by_function(torch)
        self.classes = overriding_classes(torch, self.note)

    def names_of(self, func):
        owner = getattr(func, "__self__", None)
        if inspect.isdatadescriptor(owner):
            return [f"{name}.{func.__name__}" for name in self.names[id(owner)][0]]
        return self.names[id(func)][0] if id(func) in self.names else [f"?{func.__name__}"]

    def note(self, who, func, types, args, kwargs):
        with self.torch._C.DisableTorchFunction():
            named = None if kwargs is None else {key: self.shown(arg) for key, arg in kwargs.items()}
            self.calls.append([who, self.names_of(func), [cls.__name__ for cls in types], self.shown(args), str(named)])

    def shown(self, value):
        if isinstance(value, (list, tuple)):
            return f"{type(value).__name__}({', '.join(map(self.shown, value))})"
        if isinstance(value, self.torch.Tensor):
            return f"{type(value).__name__}{list(value.as_subclass(self.torch.Tensor).shape)}"
        text = plain(repr(value))
        return text if "0x" not in text else type(value).__name__

    def space(self):
        torch, space = self.torch, {"torch": self.torch, "F": self.torch.nn.functional, "np": np, **self.classes}
        kinds = {"p": torch.Tensor} | {name: self.classes[cls] for name, cls in CLASSES.items()}
        for name, cls in kinds.items():
            data = {"": [[1.0, 2.0], [3.0, 4.0]], "i": [1, 2], "b": [True, False], "n": 2, "f": 2.0}
            for suffix, numbers in data.items():
                made = torch.tensor(numbers)
                space[name + suffix] = made if cls is torch.Tensor else made.as_subclass(cls)
        return space | {"d": space["Duck"](), "dn": space["DuckNo"](), "dr": space["DuckR"](), "pr": space["Other"]()}

    def run(self, line):
        space = self.space()
        self.calls.clear()
        *before, last = line.split("; ")

        def act():
            for statement in before:
                exec(statement, space)
            try:
                code = compile(last, last, "eval")
            except SyntaxError:
                return exec(last, space)
            return eval(code, space)

        result = attempt(act)
        with self.torch._C.DisableTorchFunction():
            shown = plain(str(result)) if isinstance(result, list) and "raised" in result else self.shown(result)
        return shown, [list(call) for call in self.calls]


CLASSES = {"x": "Log", "y": "Log2", "o": "Stranger", "no": "No"}


def overriding_classes(torch, note):
    class Log(torch.Tensor):
        """Notes what it is given, and goes on."""

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note(cls.__name__, func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs)

    class Log2(Log):
        pass

    class Stranger(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note(cls.__name__, func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs)

    class No(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note("No", func, types, args, kwargs)
            return NotImplemented

    class Duck:
        """No tensor, but overrides functions."""

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note("Duck", func, types, args, kwargs)
            return "duck"

    class DuckNo:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note(cls.__name__, func, types, args, kwargs)
            return NotImplemented

    answers = {f"__r{name}__": lambda self, other, name=name: f"r{name}" for name in REFLECTED}
    answers |= {f"__{name}__": lambda self, other, name=name: name for name in COMPARED}
    DuckR, Other = type("DuckR", (DuckNo,), answers), type("Other", (), answers)

    class Spy(importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            note("mode", func, types, args, kwargs)
            return func(*args, **(kwargs or {}))

    class NoMode(Spy):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            note("no mode", func, types, args, kwargs)
            return NotImplemented

        def __repr__(self):
            return "NoMode"

    return {key: value for key, value in locals().items() if isinstance(value, type)}


HANDED = [Handed(torch) for torch in MODULES]


def same_calls(line):
    (result, theirs), (our_result, ours) = (handed.run(line) for handed in HANDED)
    shown = f"{line}\n{our_result} {ours}\nexpected\n{result} {theirs}"
    assert our_result == result and len(ours) == len(theirs), shown
    for ours_, theirs_ in zip(ours, theirs, strict=True):
        assert set(ours_[1]) & set(theirs_[1]) and ours_[0] == theirs_[0] and ours_[2:] == theirs_[2:], shown


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "@"]
PAIRS = [pair.split() for pair in """
x 2;2 x;x p;p x;x y;y x;x o;no x;no 2;2 no;x d;d x;p d;p dn;p dr;p pr;x dr;x pr;p None;x None
""".strip().split(";")]  # fmt: skip
ASSIGNED = [pair for pair in PAIRS if pair[0] not in ("2", "d")]
UNDER_MODES = [pair.split() for pair in ["p 2", "2 p", "p p", "p d", "p dr", "p pr", "x 2", "p None"]]


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators(sign):
    def kind(name):
        return name + "i" if sign in ("<<", ">>", "&", "|", "^") and name in ("x", "p", "y", "o", "no") else name

    numbers = sign != "@"  # a number beside @: see test_functions
    for left, right in PAIRS:
        if numbers or right != "2":
            same_calls(f"{kind(left)} {sign} {kind(right)}")
    for mode in ("Spy", "NoMode"):
        for left, right in UNDER_MODES:
            if numbers or (left, right) != ("x", "2"):
                same_calls(f"with {mode}(): v = {kind(left)} {sign} {kind(right)}; v")
    if sign[-1] != "=" and sign not in "<>":
        for left, right in ASSIGNED:
            if numbers or right != "2":
                same_calls(f"v = {kind(left)}; v {sign}= {kind(right)}; v")
        same_calls(f"with Spy(): {kind('p')} {sign}= {'p' if sign == '@' else 2}")


UNARY = """
-x;+x;abs(x);~xi;len(x);bool(xn);int(xf);float(xf);complex(xf);[1, 2, 3][xn];round(x);round(x, 1);2 in x;x in x
list(x);next(iter(x));reversed(x);hash(x) is None;repr(x);format(xf, '.2f');divmod(x, 2);divmod(2, x);xn.__nonzero__()
with Spy(): -p;with Spy(): abs(p);with Spy(): ~pi;with Spy(): len(p);with Spy(): bool(pf);with Spy(): float(pf)
with Spy(): 2 in p;with Spy(): list(p);with Spy(): repr(p);len(no);abs(no);list(no);bool(nof);no in p;d in x;repr(no)
x.__rdiv__(2);x.__div__(2);x.__idiv__(2);xi.__rand__(2);p.__add__(None);p.__rpow__(pr);p.__ipow__(pr);pi.__iand__(pr)
"""
INDEXED = """
x[0];x[0, 1];x[...];x[None];x[xi.bool()];x[p > 1];p[xi - 1];p[xb];p[d];p[0, d];p[[d]];x[d];no[0];with Spy(): p[0]
x[0] = 1;x[0, 1] = 1;p[xi - 1] = 1;p[0] = x[0];p[0] = d;p[d] = 1;x[...] = p;no[0] = 1;with Spy(): p[0] = 1
"""
ATTRIBUTES = """
x.grad;x.grad = p;x.grad = None;del x.grad;x.data;x.data = p;x.requires_grad;x.requires_grad = True;x.foo = 3;x.foo
x.shape;x.dtype;x.T;x.is_leaf;x._backward_hooks = None;x.real = p;x.real;no.shape;no.grad = None;del no.grad
with Spy(): p.shape;with Spy(): p.grad;with Spy(): p.grad = None;with Spy(): p.data;with Spy(): p.real = p
with Spy(): torch.nn.Parameter(p).shape
"""
FUNCTIONS = """
torch.add(x, 1);torch.add(x, 1, alpha=2);torch.add(input=x, other=1);torch.mul(p, d);torch.rsub(d, 2)
torch.Tensor.add(x, 1);torch.Tensor.__add__(p, dr);torch.Tensor.__rsub__(x, 1);torch.Tensor.grad.__set__(x, None)
torch.cat([x, p]);torch.cat((p, y, x));torch.stack([o, x]);torch.stack([d, p]);torch.where(xb, x[0], p[0])
torch.max(x, 0);x.max(dim=0);x.sum(dim=0, keepdim=True);x.add_(1);p.mul(d);p.mul_(x);p.mul_(d);p.copy_(x)
torch.add(p, 1, out=x);torch.add(p, 1, out=d);torch.einsum('ij->ji', x);torch.norm(x);x.norm();x.split(1);x.unique()
torch.split(x, 1);torch.unique(x);torch.tensordot(x, p, 1);torch.meshgrid(x[0], x[1], indexing="ij");x.dim();x.size()
F.relu(x);F.softmax(x, 0);x.softmax(0);F.dropout(x, 0.5);F.mse_loss(x, p);F.mse_loss(p, d);F.mse_loss(p, no)
F.linear(p, x);F.layer_norm(x, (2,));F.pad(x, (1, 1));F.cross_entropy(x, xi);F.normalize(x);F.gelu(x)
x.backward(torch.ones(2, 2));x.register_hook(print);x.retain_grad();x.detach();x.to('cpu');x.float();x.numpy()
x.tolist();torch.autograd.backward(x.sum());x.new_zeros(2);torch.zeros_like(x);torch.tensor(x);torch.equal(x, p)
torch.allclose(x, p);torch.linalg.norm(x);torch.fft.fft(x);torch.special.erf(x);x.view(4);x.reshape((2, 2))
x.unflatten(0, (1, 2));with Spy(): torch.ones(2);with Spy(): F.relu(p);with Spy(): p.add(1);with Spy(): p.add_(1)
with Spy(): torch.cat([p, p]);with Spy(): F.softmax(p, dim=0);with Spy(): p.sum().backward();with Spy(): p.dim()
torch.nn.Sigmoid()(x);torch.nn.Tanh()(x);F.threshold(x, 1, 2);F.relu_(x);with Spy(): F.threshold(p, 1, 2)
F.max_pool1d(x, 2, return_indices=True);F.max_pool1d(x, 2);F.max_pool1d(x, 2, None, 0, 1, False, True)
F.adaptive_max_pool1d(x, 1, True);F.fractional_max_pool2d(x[None], 1, 1, return_indices=True)
x.new_tensor(1);x.new();with Spy(): p.new_tensor(1);with Spy(): p.new();p.data = x;torch.vmap(lambda v: v)(x)
torch.vmap(torch.sin, -1, -1)(x);with Spy(): torch.vmap(lambda v: v.sin(), 1, 1)(p)
with Spy(): torch.vmap(lambda v: pf)(p)
with NoMode(): p.add(1);with NoMode(): torch.add(p, 1);with NoMode(): F.relu(p);with NoMode(): x.add(1);F.relu(no)
no.add(1);no.add_(1);torch.linalg.norm(no);torch.fft.fft(no);torch.special.erf(no);torch.split(no, 1);no.split(1)
F.linear(no, no);F.gelu(no);F.conv1d(no, no);no.backward();torch.autograd.grad(no, no);torch.norm(no)
torch.stack([no, x])
with torch._C.DisableTorchFunctionSubclass(): torch.add(p, d)
with torch._C.DisableTorchFunctionSubclass(): p + d
with torch._C.DisableTorchFunction(): F.relu(d)
"""
SIGNATURES = """
torch.atan2(x, 0.5);torch.atan2(0.5, x);torch.atan2(d, 0.5);torch.atan2(x);torch.atan2(x, x, x);torch.atan2(x, x, foo=1)
torch.sum(x, 'a');torch.sum(p, d);torch.sum(p, (d,));torch.sum(p, 0, dtype=d)
torch.sum(p, 0, dtype=x);x.add('a');x.sum(foo=1);x.view('a');x.view(2, 'a');x.view('a', x);p.view(d);x.dim(3)
x.transpose(0);p.transpose(0, d);p.transpose(0, x);p.permute(0, x);torch.cat([x, 1]);torch.cat([x, d, p]);torch.cat(x)
torch.cat([x], 'a');torch.cat(d);torch.cat([d, 'a']);torch.zeros(d);torch.zeros([2, 'a', x]);torch.zeros(['a', x])
torch.add(p, 1, alpha=d);torch.add(p, 1, alpha=x);torch.add(p, 1, foo=x);torch.add(p, p, out=d);torch.sin(x, out=3)
torch.add(p, 1, alpha=xf);torch.full((2,), xf);torch.full((2,), x);torch.arange(xf);torch.eye(xn);torch.sum(p, xn - 2)
torch.where(other=x, input=o, condition=pb);torch.add(other=x, input=o);torch.addcmul(p, value=d, tensor2=y, tensor1=o)
torch.topk(p, 1, out=(x, d));torch.topk(p, 1, out=x);torch.topk(p, 1, out=(1, x));p.eq('a', x);p.eq(x, 3);x.eq()
F.gelu(x, 3);F.linear(x, 3);F.linear(p, d);F.one_hot(x, 'a');torch.linalg.norm(p, d);k = p.item(d)
torch.linalg.inv(x, 3);torch.fft.fft(x, 'a');torch.special.xlogy(x, 'a');x.item(3);x.copy_('a');p.fill_(d)
x.to('a', 'b');torch.pow(2, d);torch.pow(x, 'a');torch.repeat_interleave(2, d);torch.is_complex(x, 3)
torch.quantile(p, d);x.numel(2);torch.flip(p, x);torch.flip(p, (0, x))
torch.lerp(p, p, d);torch.bernoulli(p, generator=d);torch.mse_loss(x, 1)
torch._foreach_add([x, 1], 1);torch._foreach_add([p], d);torch.hstack([x, 1]);torch.conv2d(x, 3)
torch.layer_norm(x, 'a');torch.layer_norm(p, d);with Spy(): torch.atan2(p, 0.5)
with Spy(): torch.atan2(x, 0.5);with Spy(): torch.sum(x, 'a')
with torch._C.DisableTorchFunctionSubclass(): torch.sum(p, d)
"""
WITHIN = """
p.sum().add(1);torch.Tensor.add(d, 1);torch.Tensor.sum(d);torch.Tensor.relu_(dn);torch.Tensor.mul(d, x);+x
i = torch.ones(2, dtype=torch.long); w = i.as_subclass(Log); i.ge_(torch.ones(2, requires_grad=True))
x.requires_grad_(True);torch.func.grad(lambda t: (t.as_subclass(torch.Tensor) * 1).sum())(x)
v = torch.ones(2, 2, requires_grad=True); w = v.as_subclass(Log); v.requires_grad_(False)
"""
MODES = """
with Spy(), torch.no_grad(): p.add(1);with Spy(), torch.enable_grad(): p.add(1)
with Spy(): torch.no_grad()(lambda: p.add(1))()
with Spy(), torch.set_grad_enabled(True): p.add(1);with Spy(): torch.set_grad_enabled(True)
with Spy(): torch.is_grad_enabled();with Spy(): torch.is_inference_mode_enabled()
with Spy(), torch.inference_mode(): p.add(1);with Spy(), torch.autograd.set_multithreading_enabled(True): p.add(1)
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", [UNARY, INDEXED, ATTRIBUTES, FUNCTIONS, SIGNATURES, WITHIN, MODES],
                         ids=["unary", "index", "get", "call", "signatures", "within", "mode"])  # fmt: skip
def test_calls(table):
    for line in table.strip().replace("\n", ";").split(";"):
        same_calls(line)


@pytest.mark.parametrize("line", ["torch.mul(d, p)", "p * d", "d * p", "p.mul(d)", "torch.pow(2, d)"])
def test_a_class_that_is_no_tensor_where_no_subclass_was_declared(line, monkeypatch):
    monkeypatch.setattr(overriding, "active", False)
    same_calls(line)


def test_a_class_that_dispatches_by_a_table():
    """As the tutorials on extending PyTorch have it: each function has its own implementation."""

    def program(torch):
        handled = {}

        def implements(*functions):
            return lambda made: handled.update(dict.fromkeys(functions, made)) or made

        class Scalar:
            def __init__(self, n, value):
                self.n, self.value = n, value

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return handled[func](*args, **(kwargs or {})) if func in handled else NotImplemented

        class Named(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                found = handled.get(func)
                return found(*args) if found else super().__torch_function__(func, types, args, kwargs)

        @implements(torch.add, torch.Tensor.add)
        def add(input, other):
            return ["added", str(getattr(input, "value", 0) or 0), str(getattr(other, "value", 0) or 0)]

        @implements(torch.mul, torch.Tensor.mul, torch.Tensor.__rsub__, torch.Tensor.__pow__, torch.Tensor.__getitem__)
        def mul(input, other):
            return "another"

        scalar, named = Scalar(5, 2), torch.ones(2).as_subclass(Named)
        acts = [
            lambda: torch.add(scalar, scalar), lambda: torch.ones(1) + scalar, lambda: torch.mul(scalar, 2),
            lambda: torch.ones(1) * scalar, lambda: torch.sub(scalar, 1), lambda: torch.ones(1) - scalar,
            lambda: named + 1, lambda: 1 + named, lambda: named * 1.5, lambda: 1.5 * named, lambda: 2 - named,
            lambda: named**2, lambda: named[0], lambda: type(named / 2).__name__,
            lambda: python.iadd(named, 1).tolist(),
        ]  # fmt: skip
        return [attempt(act) for act in acts]

    agree(program)


def test_what_can_be_overridden():
    """Among what both have: operators of Python, and in-place methods; a stand-in for each has its parameters."""

    def program(torch):
        overrides = importlib.import_module(f"{torch.__name__}.overrides")
        methods, proxies = overrides.get_overridable_functions()[torch.Tensor], overrides.get_testing_overrides()
        names = "__add__ __radd__ __rsub__ __iadd__ __matmul__ __eq__ __lt__ __iand__ __getitem__ add_ pow __pow__ abs_"
        told = [[name, getattr(torch.Tensor, name) in methods] for name in names.split()]
        for function in (torch.add, torch.Tensor.add, torch.nn.functional.relu, torch.Tensor.shape.__get__):
            told.append([overrides.resolve_name(function), proxies[function](1, *[2] * ("add" in str(function)))])
        parameters = list(inspect.signature(proxies[torch.nn.functional.relu]).parameters)
        told.append(parameters)
        return [told, overrides.is_tensor_method_or_property(torch.Tensor.__add__)]

    agree(program)
