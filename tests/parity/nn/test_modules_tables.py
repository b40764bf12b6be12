"""What a layer computes with is what its attribute gives, wherever it comes from: a table, the class, ``__dict__``."""

import pytest
from harness import agree, attempt

pytestmark = pytest.mark.parity

LAYERS = {
    "linear": lambda torch: torch.nn.Linear(2, 2),
    "conv": lambda torch: torch.nn.Conv1d(2, 2, 1),
    "layer norm": lambda torch: torch.nn.LayerNorm(2),
    "batch norm": lambda torch: torch.nn.BatchNorm1d(2).eval(),
}


def with_property(torch, layer):
    """A class with a property over the parameter, which ``__init__`` registered before the property could be read."""

    class Scaled(type(layer)):
        @property
        def weight(self):
            return 3 * self._parameters["weight"]

    layer.__class__ = Scaled


def in_dict(torch, layer):
    layer.__dict__["bias"] = torch.ones(2) * 7


def by_getattr(torch, layer):
    class Asked(type(layer)):
        def __getattr__(self, name):
            found = super().__getattr__(name)
            return found * 2 if name in ("weight", "running_var") else found

    layer.__class__ = Asked


def unregistered(torch, layer):
    weight = layer.weight.detach() * 5
    del layer.weight
    layer.weight = weight


def parametrized(torch, layer):
    class Negative(torch.nn.Module):
        def forward(self, x):
            return -x

    torch.nn.utils.parametrize.register_parametrization(layer, "weight", Negative())


def replaced(torch, layer):
    layer._parameters["weight"] = torch.ones_like(layer.weight) * 2


def without(torch, layer):
    layer.bias = None


CHANGES = [with_property, in_dict, by_getattr, unregistered, parametrized, replaced, without]


def computed(torch, make, change):
    torch.manual_seed(0)
    layer = make(torch)
    with torch.no_grad():
        for number, parameter in enumerate(layer.parameters(), 1):
            parameter.copy_(torch.arange(float(parameter.numel())).reshape(parameter.shape) + number)
    change(torch, layer)
    x = torch.tensor([[[1.0, 2.0], [3.0, 5.0]]])
    return layer(x[0] if isinstance(layer, torch.nn.BatchNorm1d) else x).detach().tolist()


@pytest.mark.parametrize("change", CHANGES)
def test_layers_compute_with_what_their_attributes_give(change):
    agree(lambda torch: [computed(torch, make, change) for make in LAYERS.values()])


def test_a_tensor_that_is_missing_is_told_as_any_attribute():
    def missing(torch):
        layer = torch.nn.Linear(2, 2)
        del layer.weight
        return attempt(lambda: layer(torch.ones(1, 2)))

    agree(missing)
