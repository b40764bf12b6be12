"""Networks that run by graphs: numbers, gradients, compiled steps, features taken out of them."""

import pytest
from harness import agree

pytestmark = pytest.mark.parity


def network(torch):
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(3, 3), nn.LayerNorm(3)
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x, residual: bool = True):
            y = torch.tanh(self.norm(self.linear(x))) * self.scale
            return x + y if residual else y

    model = nn.Sequential(Block(), nn.ReLU(), Block(), nn.Linear(3, 1))
    for number, parameter in enumerate(model.parameters()):
        shape = parameter.shape
        values = torch.arange(parameter.numel(), dtype=torch.float32).reshape(shape)
        parameter.data = torch.sin(values + number)
    return model


def trained(torch, model, steps=4):
    x = torch.linspace(-1, 1, 12).reshape(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_traced_network_is_trained_as_the_network():
    def program(torch):
        model = network(torch)
        gm = torch.fx.symbolic_trace(model)
        shared = all(a is b for a, b in zip(model.parameters(), gm.parameters(), strict=True))
        return shared, trained(torch, gm), [name for name, _ in gm.named_parameters()]

    agree(program)


@pytest.mark.filterwarnings("ignore:Using `torch.compile")  # other tests leave hooks with PyTorch
def test_a_traced_network_is_compiled():
    def program(torch):
        gm = torch.fx.symbolic_trace(network(torch))
        return trained(torch, torch.compile(gm, backend="eager") if torch.__name__ == "torch" else torch.compile(gm), 6)

    agree(program)


def test_features_are_taken_out():
    def program(torch):
        class Named(torch.fx.Tracer):
            def is_leaf_module(self, m, path):
                return isinstance(m, (torch.nn.Linear, torch.nn.LayerNorm))

        model = network(torch).eval()
        graph = Named().trace(model)
        found = {node.name: node for node in graph.nodes}
        wanted = [found["relu"], found["_2_linear"]]
        graph.erase_node(graph.output_node())
        graph.output({node.name: node for node in wanted})
        gm = torch.fx.GraphModule(model, graph, "Features")
        gm.graph.eliminate_dead_code()
        gm.recompile()
        gm.delete_all_unused_submodules()
        out = gm(torch.ones(2, 3))
        return {name: value.detach() for name, value in out.items()}, sorted(gm.state_dict()), list(found)

    agree(program)


def test_second_derivatives_and_transforms_go_through_graphs():
    def program(torch):
        gm = torch.fx.symbolic_trace(lambda x, w: torch.einsum("ij,j->i", torch.sin(x), w).pow(2).sum())
        x, w = torch.ones(2, 3, requires_grad=True), torch.arange(3.0)
        (first,) = torch.autograd.grad(gm(x, w), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        mapped = torch.func.vmap(lambda row: gm(row[None], w))(x.detach())
        return first.detach(), second, mapped, torch.func.grad(gm, argnums=1)(x.detach(), w)

    agree(program)


def test_an_interpreter_frees_what_is_done(tmp_path):
    def program(torch):
        gm = torch.fx.symbolic_trace(network(torch))
        seen = []

        class Counting(torch.fx.Interpreter):
            def run_node(self, n):
                seen.append(len(self.env))
                return super().run_node(n)

        out = Counting(gm).run(torch.ones(2, 3))
        held = Counting(gm, garbage_collect_values=False)
        held.run(torch.ones(2, 3))
        return out.detach(), seen, len(held.env)

    agree(program)


def test_a_folder_has_the_module(tmp_path, monkeypatch):
    import importlib

    import tapegrad as torch

    gm = torch.fx.symbolic_trace(network(torch))
    gm.to_folder(tmp_path / "written", "Written")
    monkeypatch.syspath_prepend(tmp_path)
    again = importlib.import_module("written").Written()
    x = torch.ones(2, 3)
    assert torch.equal(again(x), gm(x))
    assert again.state_dict().keys() == gm.state_dict().keys()
