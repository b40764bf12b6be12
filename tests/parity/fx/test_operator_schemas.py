"""``torch.fx.operator_schemas``: arguments by name with their defaults, as PyTorch's; graphs that are normalized."""

import pytest
import torch as pytorch
import torch.fx.experimental.normalize
import torch.fx.operator_schemas

import tapegrad
import tapegrad.fx.experimental.normalize
import tapegrad.fx.operator_schemas

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed")]

CALLS = {
    "relu": lambda t: (t.relu, ("x",)), "flatten": lambda t: (t.flatten, ("x", 1)), "cat": lambda t: (t.cat, (["x"],)),
    "matmul": lambda t: (t.matmul, ("x", "y")), "transpose": lambda t: (t.transpose, ("x", 0, 1)),
    "mean": lambda t: (t.mean, ("x",)), "split": lambda t: (t.split, ("x", 1)),
    "einsum": lambda t: (t.einsum, ("i", "x")), "functional relu": lambda t: (t.nn.functional.relu, ("x",)),
    "linear": lambda t: (t.nn.functional.linear, ("x", "w")),
    "softmax": lambda t: (t.nn.functional.softmax, ("x", 1)),
    "dropout": lambda t: (t.nn.functional.dropout, ("x", 0.1)),
    "max_pool2d": lambda t: (t.nn.functional.max_pool2d, ("x", 2)), "bmm": lambda t: (t.bmm, ("x", "y")),
    "batch_norm": lambda t: (t.nn.functional.batch_norm, ("x", "m", "v")), "stack": lambda t: (t.stack, (["x"],)),
    "an overload": lambda t: (t.ops.aten.sum.dim_IntList, ("x", [1])), "python": lambda t: (lambda a, b=2: a, ("x",)),
    "too many": lambda t: (t.relu, ("x", "y")),
}  # fmt: skip


@pytest.mark.parametrize("only", [False, True], ids=["as given", "by name"])
@pytest.mark.parametrize("name", CALLS)
def test_functions(name, only):
    found = []
    for t in (pytorch, tapegrad):
        function, args = CALLS[name](t)
        normalize = t.fx.operator_schemas.normalize_function
        found.append(normalize(function, args, normalize_to_only_use_kwargs=only))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["add", "conv2d", "sum"])
def test_several_schemas_want_types(name):
    """The error is PyTorch's, but for the schemas; types choose one."""
    types = {"add": (2, ()), "conv2d": (2, ()), "sum": (1, (1,))}[name]
    texts, found = [], []
    for t in (pytorch, tapegrad):
        function, args = getattr(t, name), ("x",) * types[0] + types[1]
        normalize = t.fx.operator_schemas.normalize_function
        if name != "sum":
            with pytest.raises(RuntimeError, match="schema match was ambiguous") as caught:
                normalize(function, args)
            texts.append(str(caught.value).split("\n")[0])
        kinds = (t.Tensor,) * types[0] + tuple(map(type, types[1]))
        if name != "conv2d":
            found.append(normalize(function, args, arg_types=kinds, normalize_to_only_use_kwargs=True))
    assert len(set(texts)) < 2
    assert found[:1] == found[1:]


def graph(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = t.nn.Linear(2, 3)

        def forward(self, x, y):
            return t.nn.functional.relu(self.l(x)) + t.cat([x, y], 1)

    return t.fx.symbolic_trace(Net())


@pytest.mark.parametrize("only", [False, True], ids=["as given", "by name"])
def test_nodes(only):
    found = []
    for t in (pytorch, tapegrad):
        gm = graph(t)
        pairs = [node.normalized_arguments(gm, normalize_to_only_use_kwargs=only) for node in gm.graph.nodes]
        found.append([pair and (str(pair.args), str(pair.kwargs)) for pair in pairs])
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:We were not able to successfully create type hint")
def test_normalized_graphs():
    codes = [t.fx.experimental.normalize.NormalizeArgs(graph(t)).transform().code for t in (pytorch, tapegrad)]
    assert codes[0] == codes[1]
    adds = []
    for t in (pytorch, tapegrad):
        gm = t.fx.symbolic_trace(lambda x, y: t.add(x, t.mul(y, 2)))  # noqa: B023
        adds.append(t.fx.experimental.normalize.NormalizeOperators(gm).transform().code)
    assert adds[0] == adds[1]


@pytest.mark.parametrize("t", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_modules(t):
    normalize, net = t.fx.operator_schemas.normalize_module, t.nn.Sequential(t.nn.Linear(2, 3))
    assert normalize(net, "0", ("x",), normalize_to_only_use_kwargs=True).kwargs == {"input": "x"}
    with pytest.raises(RuntimeError, match="Tried to normalize node with target 1 but root did not have that target!"):
        normalize(net, "1", ("x",))
