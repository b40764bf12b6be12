"""Graphs of exported programs: their text, code and nodes, as PyTorch's; and they run."""

import re

import pytest
import torch as pytorch

import tapegrad

pytestmark = [
    pytest.mark.parity, pytest.mark.once("graphs are made and run once"), pytest.mark.filterwarnings("ignore")
]  # fmt: skip


def layers(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn = t.nn.Conv2d(1, 2, 3), t.nn.BatchNorm2d(2)
            self.fc, self.ln = t.nn.Linear(8, 3), t.nn.LayerNorm(3)
            self.register_buffer("scale", t.ones(3))
            self.const = t.tensor([1.0, 2.0, 3.0])

        def forward(self, x, y=2):
            h = t.relu(self.bn(self.conv(x)))
            h = t.nn.functional.dropout(h, 0.5, training=self.training)
            h = self.ln(self.fc(h.flatten(1))) * self.scale + self.const + t.tensor([1.0, 1.0, 1.0])
            loss = t.nn.functional.cross_entropy(h, t.zeros(h.shape[0], dtype=t.int64))
            return h.softmax(-1), {"a": h.view(-1)[1:], "b": loss, "n": 3}

    return Net().eval(), (t.ones(2, 1, 4, 4),), {}


def several(t):
    class Several(t.nn.Module):
        def forward(self, x, y):
            z, (a, _) = x * 2, t.split(x, 1)
            joined = t.einsum("ij,kj->ik", x, y)
            return z.view(x.shape[0], -1) + x.shape[0], a.sum(), joined, x.unbind(0), x.max(0)[0], y[:, -1]

    return Several(), (t.ones(2, 3), t.ones(2, 3)), {}


def embedded(t):
    net = t.nn.Sequential(t.nn.Embedding(5, 3), t.nn.Linear(3, 4), t.nn.GELU(), t.nn.Dropout(0.1), t.nn.Linear(4, 2))
    return net.eval(), (t.tensor([[0, 1]]),), {}


def named(t):
    class Named(t.nn.Module):
        def forward(self, x, *, flag=True, names):
            return x * 2 if flag else x, names["k"] + 1

    return Named(), (t.ones(2),), {"names": {"k": t.ones(2)}}


PROGRAMS = {
    "layers": layers, "several results": several, "embedding": embedded, "keywords": named,
    "attention": lambda t: (t.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (t.ones(1, 3, 4),), {}),
    "lstm": lambda t: (t.nn.LSTM(2, 3), (t.ones(1, 3, 2),), {}),
}  # fmt: skip


def exported(t, name, dynamic_shapes=None):
    module, args, kwargs = PROGRAMS[name](t)
    return t.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes)


def told(ep):
    """What is printed, without places in the sources of either library, and keys of random numbers."""
    return re.sub(r"# File: .*", "# File", str(ep)).replace("    key: TOKEN\n", "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(name):
    """A program is printed as PyTorch prints it; so is its graph, and its code."""
    theirs, ours = exported(pytorch, name), exported(tapegrad, name)
    assert told(ours) == told(theirs)
    assert ours.graph_module.code == theirs.graph_module.code
    assert str(ours.graph) == str(theirs.graph)
    assert ours.graph_signature.user_outputs == theirs.graph_signature.user_outputs
    for own, other in zip(ours.graph.nodes, theirs.graph.nodes, strict=True):
        assert own.op == other.op and str(own.target) == str(other.target)
        if hasattr(other.meta.get("val"), "shape"):
            assert tuple(own.meta["val"].shape) == tuple(other.meta["val"].shape)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_run(name):
    """A graph gives what the module gives, of parameters, buffers, constants and arguments."""
    ep = exported(tapegrad, name)
    args, kwargs = PROGRAMS[name](tapegrad)[1:]
    inputs = [
        spec.arg.value if hasattr(spec.arg, "value") else ep.tensor_of(spec) if spec.target else None
        for spec in ep.graph_signature.input_specs if str(spec.kind) != "InputKind.TOKEN"
    ]  # fmt: skip
    users = iter(ep.flat_inputs(args, kwargs))
    given = [next(users) if one is None else one for one in inputs]
    found = ep.graph_module(*given)
    expected = tapegrad.utils._pytree.tree_leaves(ep.module()(*args, **kwargs))
    for one, other in zip(found, expected, strict=True):
        tapegrad.testing.assert_close(one, other)


def test_writes_and_constants():
    """What is written to is written to in the graph; what a module writes to has the name of the node."""

    def module(t):
        class Counter(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", t.zeros(()))

            def forward(self, x):
                self.count.add_(1)
                h = x * 2
                h += self.count
                return h.relu_()

        return Counter()

    theirs = pytorch.export.export(module(pytorch), (pytorch.ones(2),))
    ours = tapegrad.export.export(module(tapegrad), (tapegrad.ones(2),))
    assert ours.graph_module.code == theirs.graph_module.code
    assert ours.graph_signature.buffers_to_mutate == {"add_": "count"}
    count = tapegrad.zeros(())
    assert ours.graph_module(count, tapegrad.ones(2))[0].tolist() == [3.0, 3.0] and count.item() == 1


def test_lengths_that_change_are_nodes():
    """Arithmetic on a length is in the graph, which runs for others."""

    class Net(tapegrad.nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] * 2, 2), x.new_zeros(x.shape[0] + 1)

    batch = tapegrad.export.Dim("batch")
    ep = tapegrad.export.export(Net(), (tapegrad.ones(2, 4),), dynamic_shapes=({0: batch},))
    assert "sym_size.int(x, 0)" in ep.graph_module.code and '"f32[batch, 4]"' in str(ep)
    first, second = ep.graph_module(tapegrad.ones(5, 4))
    assert first.shape == (10, 2) and second.shape == (6,)


def test_lines_of_the_program():
    """Nodes know the lines of ``forward`` that made them."""
    ep = exported(tapegrad, "several results")
    trace = next(node.stack_trace for node in ep.graph.nodes if node.name == "einsum")
    assert trace.endswith('joined = t.einsum("ij,kj->ik", x, y)') and "in forward" in trace


def test_programs_from_files_have_no_graph(tmp_path):
    ep = exported(tapegrad, "keywords")
    tapegrad.export.save(ep, tmp_path / "program.pt2")
    loaded = tapegrad.export.load(tmp_path / "program.pt2")
    assert "stablehlo" in str(loaded) and "stablehlo" not in str(ep)
    with pytest.raises(NotImplementedError, match="comes from a file is no graph"):
        loaded.graph_module


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_attributes_are_fixed(torch):
    ep = exported(torch, "keywords")
    for name in ("graph", "graph_module", "graph_signature"):
        with pytest.raises(RuntimeError, match=f"Unable to set ExportedProgram's {name} attribute"):
            setattr(ep, name, None)
