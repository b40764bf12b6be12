"""Exported programs: what goes in and comes out, results, lengths that change, and refusals as PyTorch's.

PyTorch's program is compared as ``run_decompositions`` gives it where it matters that a program is functional.
"""

import collections
import dataclasses
import importlib
import io

import numpy as np
import pytest
import torch
from harness import agree, attempt, told

import tapegrad

pytestmark = [
    pytest.mark.parity, pytest.mark.once("jax traces and compiles them"), pytest.mark.filterwarnings("ignore")
]  # fmt: skip

DATA = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
Pair = collections.namedtuple("Pair", "left right")


def x_of(m, *shape):
    return m.tensor(np.resize(DATA, shape or DATA.shape).tolist())


class Holder:
    """The modules that are exported, in either library."""

    def __init__(self, m):
        nn = m.nn

        class Function(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.function = function

            def forward(self, x):
                return self.function(x)

        class Nested(nn.Module):
            def forward(self, a, b, *args, c=1, **more):
                return a + b[0] + b[1]["k-1"] + args[0] + args[1][0] + more["z"] * c

        class Owner(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3, bias=False)
                self.second.weight = self.first.weight
                self.unused = nn.Parameter(m.ones(2))
                self.constant, self.other = m.arange(3.0), m.ones(3)
                self.register_buffer("apart", m.ones(3), persistent=False)

            def forward(self, x):
                return self.second(self.first(x)) + self.constant * m.tensor([1.0, 2.0, 3.0]) + self.apart

        class Writer(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", m.zeros(3))
                self.register_buffer("total", m.zeros(3))

            def forward(self, x, y):
                y.mul_(2)
                self.total.add_(x[0].detach())
                self.count = self.count + 1
                return x + self.total, self.count

        class Constants(nn.Module):
            def forward(self, x, k=2, f=1.5, flag=True, none=None, word="a"):
                return {"y": x * k * f, "rest": [k, flag, none, word, x.shape[0]]}

        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.constant = m.zeros(3)

            def forward(self, x):
                self.constant.add_(1)
                return x + self.constant

        self.m, self.nn, self.Function = m, nn, Function
        self.nested, self.owner, self.writer, self.constants, self.counter = (
            Nested(), Owner(), Writer(), Constants(), Counter()
        )  # fmt: skip
        self.norm = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
        with m.no_grad():
            for module in (self.owner, self.norm):
                for number, parameter in enumerate(module.parameters()):
                    parameter.copy_(m.arange(parameter.numel()).reshape(parameter.shape) / 10 - 0.1 * number)

    def export(self, function, *args, **options):
        module = self.Function(function) if not isinstance(function, self.nn.Module) else function
        return self.m.export.export(module, args or (x_of(self.m),), **options)


def specs(ep, functional):
    """Inputs as they are, apart from the key of random numbers; of outputs their kinds and targets."""
    listed = [spec for spec in ep.graph_signature.input_specs if spec.kind.name != "TOKEN"]
    inputs = [str(spec) for spec in sorted(listed, key=lambda one: one.arg.name)
              if spec.kind.name == "CONSTANT_TENSOR"]  # in the order in which they are come upon
    inputs += [str(spec) for spec in listed if spec.kind.name != "CONSTANT_TENSOR"]
    outputs = [(spec.kind.name, spec.target) for spec in functional.graph_signature.output_specs]
    return inputs, outputs


def signature(ep):
    return specs(ep, ep.run_decompositions())


EXAMPLES = {
    "nested arguments": lambda h, x: (
        h.nested, (x, [x, {"k-1": x}], x, (x,)), {"c": 2, "z": x}
    ),
    "a named tuple": lambda h, x: (h.Function(lambda pair: Pair(pair.left + pair.right, 1)), (Pair(x, x),), {}),
    "tied weights, constants, buffers": lambda h, x: (h.owner, (x,), {}),
    "writes": lambda h, x: (h.writer, (x, x.clone()), {}),
    "constants": lambda h, x: (h.constants, (x, 3, 2.5, False, None, "b"), {}),
    "defaults": lambda h, x: (h.constants, (x,), {}),
    "running statistics": lambda h, x: (h.norm, (x,), {}),
    "dropout": lambda h, x: (h.nn.Dropout(), (x,), {}),
    "an input that comes out": lambda h, x: (h.Function(lambda x: (x, [x], None, {})), (x,), {}),
    "attention": lambda h, x: (
        h.nn.MultiheadAttention(4, 2).eval(), (x_of(h.m, 2, 3, 4),) * 3, {"need_weights": False}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_signatures(name):
    def program(m):
        holder = Holder(m)
        module, args, kwargs = EXAMPLES[name](holder, x_of(m))
        ep = m.export.export(module, args, kwargs)
        constants = [key for key in ep.constants if not key.startswith("lifted")]
        lifted = [value for key, value in ep.constants.items() if key.startswith("lifted")]
        call = ep.module_call_graph[0].signature
        return (
            signature(ep), list(ep.state_dict), constants, lifted, [key for key, _ in ep.named_parameters()],
            [key for key, _ in ep.named_buffers()], str(call.in_spec), str(call.out_spec), call.forward_arg_names,
            [entry.fqn for entry in ep.module_call_graph if "." not in entry.fqn], list(ep.graph_signature.user_inputs),
        )  # fmt: skip

    agree(program)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("dropout", "attention")])
def test_results_writes_and_gradients(name):
    def program(m):
        module, args, kwargs = EXAMPLES[name](Holder(m), x_of(m))
        ep = m.export.export(module, args, kwargs)
        inside = ep.module()
        result = inside(*args, **kwargs)
        leaves = [leaf for leaf in m.utils._pytree.tree_leaves(result) if isinstance(leaf, m.Tensor)]
        if any(leaf.requires_grad for leaf in leaves):
            sum(leaf.sin().sum() for leaf in leaves if leaf.requires_grad).backward()
        grads = [[key, parameter.grad] for key, parameter in inside.named_parameters()]
        shown = result if not any(leaf.requires_grad for leaf in leaves) else [leaf.detach() for leaf in leaves]
        kept = [ep.state_dict[key].detach() for key in ep.state_dict]
        return shown, grads, list(args[1:]) if name == "writes" else [], kept, list(inside.state_dict())

    agree(program, rtol=1e-4, atol=1e-5)


def test_the_module_shares_the_tensors_of_the_one_that_was_exported():
    def program(m):
        holder = Holder(m)
        ep = m.export.export(holder.owner, (x_of(m),))
        inside = ep.module()
        shared = inside.first.weight is holder.owner.first.weight, inside.second.weight is inside.first.weight
        refused = [attempt(inside.train), attempt(inside.eval), attempt(lambda: ep(x_of(m)))]
        names = ["graph_signature", "state_dict", "range_constraints", "module_call_graph", "constants", "call_spec",
                 "dialect"]  # fmt: skip
        refused += [attempt(lambda name=name: setattr(ep, name, 1)) for name in names]
        refused.append(attempt(lambda: setattr(ep, "example_inputs", 1)))
        return shared, refused, ep.example_inputs

    agree(program)


def dims(m):
    return m.export.Dim


AUTO = {
    "of elements": (lambda m, x: x * 2, {0: "AUTO", 1: "AUTO"}, (4, 3)),
    "a branch": (lambda m, x: x * 2 if x.shape[0] > 2 else x, {0: "AUTO"}, (4, 3)),
    "an upper bound": (lambda m, x: x * 2 if x.shape[0] < 20 else x, {0: "DYNAMIC"}, (4, 3)),
    "equal": (lambda m, x: x + x.T, {0: "AUTO", 1: "AUTO"}, (4, 4)),
    "fixed": (lambda m, x: x + m.ones(4, 1), {0: "AUTO"}, (4, 3)),
    "one": (lambda m, x: x * 2, {0: "AUTO"}, (1, 3)),
    "static": (lambda m, x: x * 2, {0: "STATIC", 1: "AUTO"}, (4, 3)),
}


@pytest.mark.parametrize("name", AUTO)
def test_what_is_found_out_about_lengths(name):
    function, said, shape = AUTO[name]

    def program(m):
        shapes = ({axis: getattr(dims(m), kind) for axis, kind in said.items()},)
        ep = Holder(m).export(lambda x: function(m, x), x_of(m, *shape), dynamic_shapes=shapes)
        inside = ep.module()
        calls = [(5, 5), (4, 5), (6, 6), shape] if name == "equal" else [(5, 3), (2, 3), (20, 3), shape, (1, 3)]
        return [str(bounds) for bounds in ep.range_constraints.values()], [
            attempt(lambda other=other: inside(x_of(m, *other))) for other in calls
        ]

    agree(program)


NAMED = {
    "free": lambda m, D: (lambda x: x * 2, (4, 3), ({0: D("batch")},)),
    "bounds": lambda m, D: (lambda x: x * 2, (4, 3), ({0: D("batch", min=2, max=6)},)),
    "one name twice": lambda m, D: (lambda x: x * 2, (4, 4), ({0: D("batch"), 1: D("batch")},)),
    "derived": lambda m, D: (lambda x: x * 2, (4, 3), ({0: 2 * D("half", max=5)},)),
    "as a length": lambda m, D: (lambda x: (x.shape[0], x.reshape(-1), m.zeros(x.shape[0])), (4, 3), ({0: D("b")},)),
    "a branch": lambda m, D: (lambda x: x * 2 if x.shape[0] > 2 else x, (4, 3), ({0: D("batch")},)),
    "a branch within bounds": lambda m, D: (
        lambda x: x * 2 if x.shape[0] > 2 else x, (4, 3), ({0: D("batch", min=1, max=6)},)
    ),
    "an upper bound": lambda m, D: (lambda x: x * 2 if x.shape[0] < 20 else x, (4, 3), ({0: D("batch")},)),
    "fixed": lambda m, D: (lambda x: x + m.ones(4, 1), (4, 3), ({0: D("batch")},)),
    "fixed, without a name": lambda m, D: (lambda x: x + m.ones(4, 1), (4, 3), ({0: D.DYNAMIC},)),
    "two are fixed": lambda m, D: (lambda x: x + m.ones(4, 3), (4, 3), ({0: D("a"), 1: D("b")},)),
    "equal": lambda m, D: (lambda x: x + x.T, (4, 4), ({0: D("batch"), 1: D("c")},)),
    "an example of 1": lambda m, D: (lambda x: x * 2, (1, 3), ({0: D("batch")},)),
    "an example of 0": lambda m, D: (lambda x: x * 2, (0, 3), ({0: D("batch")},)),
    "an example of 1, without a name": lambda m, D: (lambda x: x * 2, (1, 3), ({0: D.DYNAMIC},)),
    "an example out of bounds": lambda m, D: (lambda x: x * 2, (4, 3), ({0: D("batch", min=5)},)),
    "an example of another length": lambda m, D: (lambda x: x * 2, (4, 3), ({0: 7},)),
    "examples that differ": lambda m, D: (lambda x: x * 2, (4, 3), ({0: D("b"), 1: D("b")},)),
    "no multiple": lambda m, D: (lambda x: x * 2, (5, 3), ({0: 2 * D("h")},)),
    "two definitions": lambda m, D: (lambda x: x * 2, (4, 3), ({0: D("b"), 1: D("b", min=3)},)),
    "too many": lambda m, D: (lambda x: x * 2, (4, 3), ({0: D("b")}, {0: D("b")})),
    "no such argument": lambda m, D: (lambda x: x * 2, (4, 3), {"y": {0: D("b")}}),
    "no such dimension": lambda m, D: (lambda x: x * 2, (4, 3), ({7: D("b")},)),
    "another count": lambda m, D: (lambda x: x * 2, (4, 3), ((D("b"),),)),
    "no length": lambda m, D: (lambda x: x * 2, (4, 3), ({0: "b"},)),
    "no length in a row": lambda m, D: (lambda x: x * 2, (4, 3), ((1.5, None),)),
    "no shape": lambda m, D: (lambda x: x * 2, (4, 3), (3,)),
    "another structure": lambda m, D: (lambda x: x * 2, (4, 3), ([[{0: D("b")}]],)),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_what_is_said_about_lengths(name):
    def program(m):
        function, shape, shapes = NAMED[name](m, dims(m))
        holder = Holder(m)
        try:
            inside = holder.export(function, x_of(m, *shape), dynamic_shapes=shapes).module()
        except Exception as error:  # what it raises is what is compared
            return type(error).__name__, str(error)
        calls = [(6, 3), (8, 3), (12, 3), (4, 4), (6, 6), (4, 5)] + [(5, 3), (7, 3), (1, 3)] * (name != "derived")
        return [attempt(lambda other=other: inside(x_of(m, *other))) for other in calls]

    agree(program)


REFUSED = {
    "no module": lambda h, x: h.m.export.export(lambda x: x, (x,)),
    "a list of arguments": lambda h, x: h.m.export.export(h.nn.ReLU(), [3]),
    "too many arguments": lambda h, x: h.m.export.export(h.nn.ReLU(), (x, x)),
    "an argument of no known kind": lambda h, x: h.export(lambda x: x, object()),
    "a result of no known kind": lambda h, x: h.export(lambda x: object()),
    "a constant that is written to": lambda h, x: h.export(h.counter).run_decompositions(),
    "no program to save": lambda h, x: h.m.export.save(3, io.BytesIO()),
    "a named tuple in a file": lambda h, x: h.m.export.save(h.export(lambda x: Pair(x, x)), io.BytesIO()),
    "shapes of what isn't given": lambda h, x: h.export(lambda x: x, x, dynamic_shapes=collected(h.m)),
    "shapes of no tensor": lambda h, x: h.m.export.ShapesCollection().__setitem__(3, {}),
    "examples in a list": lambda h, x: h.m.export.AdditionalInputs().add([x]),
    "no dataclass": lambda h, x: h.m.export.register_dataclass(int),
    "no such arguments": lambda h, x: h.export(lambda x: x).module()(x, x),
    "no arguments": lambda h, x: h.export(lambda x: x).module()(),
    "a keyword": lambda h, x: h.export(lambda x: x).module()(x=x),
    "a string": lambda h, x: h.export(lambda x: x).module()("x"),
    "another number": lambda h, x: h.export(h.constants, x, 3).module()(x, 4),
    "another word": lambda h, x: (
        h.export(h.constants, x, 3, 2.5, False, None, "b").module()(x, 3, 2.5, False, None, "c")
    ),
    "a leaf that is written to": lambda h, x: h.export(lambda x: x.mul_(2)).module()(x.clone().requires_grad_()),
}  # fmt: skip


def collected(m):
    shapes = m.export.ShapesCollection()
    shapes[x_of(m)] = {0: m.export.Dim("b")}
    return shapes


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    def program(m):
        try:
            REFUSED[name](Holder(m), x_of(m))
        except Exception as error:  # what it raises is what is compared
            return type(error).__name__, str(error).replace(m.__name__, "torch")
        raise AssertionError("nothing was raised")

    agree(program)


def test_python_that_asks_for_elements():
    for m in (torch, tapegrad):
        with pytest.raises(RuntimeError, match=r"^Could not guard on data-dependent expression Eq\(u0, 1\)") as caught:
            Holder(m).export(lambda x: x * 2 if x.sum() > 2 else x)
        assert type(caught.value).__name__ == "GuardOnDataDependentSymNode"
        assert "you can replace your `export()` call with `draft_export()`" in str(caught.value)


def test_dims():
    def program(m):
        D, dim = m.export.Dim, lambda: m.export.Dim("a", min=3, max=7)
        good = [D("a"), dim(), 2 * dim() + 1, dim() * 2 - 1, (dim() - 1) * 3, m.export.dims("a", "b", max=5), D.AUTO]
        bounds = [(2 * dim() + 1).min, (2 * dim() + 1).max, str(D("a").max), D.AUTO(min=3), D.DYNAMIC(max=4), D.STATIC]
        bad = [
            lambda: D("1a"), lambda: D("a", min=4, max=2), lambda: dim() - dim(), lambda: dim() + 1.0,
            lambda: dim() * -1,
            lambda: 1 - dim(), lambda: (D("a") - 1).min, lambda: D.AUTO(min=-1), lambda: D.AUTO(min=4, max=2),
        ]  # fmt: skip
        return str(good), str(bounds), [attempt(one) for one in bad]

    agree(program)


def test_makers_of_shapes():
    def program(m):
        x, relu = x_of(m), m.nn.ReLU()
        shapes = m.export.ShapesCollection()
        shapes[x] = {0: m.export.Dim("batch")}
        more = m.export.AdditionalInputs()
        more.add((x_of(m, 6, 3),))
        both = shapes.dynamic_shapes(relu, (x,)), more.dynamic_shapes(relu, (x,))
        exported = [m.export.export(relu, (x,), dynamic_shapes=one) for one in (shapes, more)]
        more.verify(exported[1])
        more.add((x_of(m, 6, 4),))
        calls = [attempt(lambda ep=ep: ep.module()(x_of(m, 6, 3))) for ep in exported]
        return str(both), len(shapes), calls, attempt(lambda: more.verify(exported[1]))[0]

    agree(program)


def test_dataclasses():
    def program(m):
        @dataclasses.dataclass
        class Point:
            x: object
            shift: int = 3

        m.export.register_dataclass(Point)
        ep = Holder(m).export(lambda point: Point(point.x * 2), Point(x_of(m)))
        moved = ep.module()(Point(x_of(m)))
        return specs(ep, ep), dataclasses.astuple(moved)

    agree(program)


def test_files():
    def program(m):
        holder, file, extra = Holder(m), io.BytesIO(), {"a.txt": ""}
        ep = holder.export(holder.owner, dynamic_shapes=({0: m.export.Dim("batch", max=6)},))
        m.export.save(ep, file, extra_files={"a.txt": "words"})
        file.seek(0)
        loaded = m.export.load(file, extra_files=extra)
        other = [attempt(lambda: loaded.module()(x_of(m, 7, 3))), loaded.module()(x_of(m, 5, 3)).detach()]
        tied = loaded.state_dict["first.weight"].requires_grad, type(loaded.state_dict["unused"]).__name__
        bad = attempt(lambda: m.export.load(io.BytesIO(b"words"))), attempt(lambda: m.export.load("/nowhere/at/all"))
        return specs(loaded, loaded), extra, other, tied, loaded.example_inputs, sorted(loaded.state_dict), bad

    agree(program, rtol=1e-5)


HOMES = "", ".graph_signature", ".dynamic_shapes", ".exported_program"


@pytest.mark.parametrize("home", [f"export{part}" for part in HOMES])
def test_names(home):
    theirs, ours = (importlib.import_module(f"{m.__name__}.{home}") for m in (torch, tapegrad))
    lacking = {
        "Constraint", "UnflattenedModule", "FlatArgsAdapter", "refine_dynamic_shapes_from_suggested_fixes"
    }  # fmt: skip
    assert {name for name in theirs.__all__ if not hasattr(ours, name)} <= lacking
    assert told([kind.name for kind in torch.export.graph_signature.InputKind]) == [
        kind.name for kind in tapegrad.export.graph_signature.InputKind
    ]
