"""What the programs about saved tensors have in common."""

from __future__ import annotations

from typing import Any


def hooked(torch: Any, pack: Any, unpack: Any) -> Any:
    """The context with these hooks."""
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def logging(torch: Any, log: list) -> Any:
    """Hooks that keep a detached copy and note what they are given."""

    def pack(x: Any) -> Any:
        log.append(["pack", x.tolist(), x.requires_grad, x.is_leaf, torch.is_grad_enabled()])
        return x.detach().clone()

    def unpack(x: Any) -> Any:
        log.append(["unpack", x.tolist(), torch.is_grad_enabled()])
        return x

    return hooked(torch, pack, unpack)


def names(node: Any) -> list[str]:
    """The saved tensors that a node lists."""
    return sorted(name for name in dir(node) if name.startswith("_raw_saved_"))


def without_addresses(result: Any) -> list:
    """What ``attempt`` gave, without the arguments that the message shows."""
    return [*result[:2], result[2].split("Invoked with")[0]]
