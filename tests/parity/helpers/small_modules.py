"""Small modules for programs that run on both libraries, with fixed parameters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def modules(torch: Any) -> SimpleNamespace:
    """Classes of modules of a library; ``Net`` has some of the others."""
    nn = torch.nn

    class Scale(nn.Module):
        """Multiplies by a weight, and adds a bias."""

        def __init__(self, value: float = 2.0) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1.0, value, 3.0]))
            self.bias = nn.Parameter(torch.tensor([value, 1.0, 2.0]))

        def forward(self, x: Any, power: int = 1) -> Any:
            return x * self.weight**power + self.bias

        def extra_repr(self) -> str:
            return f"size={self.weight.shape[0]}"

    class Count(nn.Module):
        """Counts its calls in training; in evaluation it multiplies by their number."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.tensor(1.0))
            self.register_buffer("last", torch.zeros(3), persistent=False)

        def forward(self, x: Any) -> Any:
            if not self.training:
                return x * self.calls
            self.calls.add_(1)
            self.last = x.detach()
            return x * 2

    class Shift(nn.Module):
        """An activation in place."""

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.relu(x, inplace=True)

    class Split(nn.Module):
        """Several outputs, one of which is no tensor."""

        def forward(self, x: Any, y: Any = None) -> Any:
            return x * 2, 3, x if y is None else x * y

    class Net(nn.Module):
        """All of them."""

        def __init__(self) -> None:
            super().__init__()
            self.first = Scale()
            self.rest = nn.Sequential(Count(), Shift(), Scale(-1.0))

        def forward(self, x: Any) -> Any:
            return self.rest(self.first(x))

    return SimpleNamespace(Scale=Scale, Count=Count, Shift=Shift, Split=Split, Net=Net)


def vector(torch: Any, requires_grad: bool = False) -> Any:
    """Three numbers."""
    return torch.tensor([1.0, 2.0, -3.0], requires_grad=requires_grad)


def named(pairs: Any) -> dict[str, Any]:
    """Named tensors, detached."""
    return {name: tensor.detach().clone() for name, tensor in pairs}
