"""Short programs with tensors on a mesh, in a process with eight devices. Run by ``test_sharded.py``."""

import copy
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import tapegrad as torch
from tapegrad.distributed import checkpoint
from tapegrad.distributed.device_mesh import init_device_mesh
from tapegrad.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, randn, zeros
from tapegrad.interop import from_jax, from_jax_array, to_jax
from tapegrad.interop.compare import compare

mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("data", "model"))
BOTH, ROWS, NONE = (Shard(0), Shard(1)), (Shard(0), Replicate()), (Replicate(), Replicate())


def refuses(kind: type[Exception], words: str, call: Callable) -> None:
    try:
        call()
    except kind as error:
        assert re.search(words, str(error)), error
    else:
        raise AssertionError(f"not refused: {words}")


def same(x: Any, y: Any) -> None:
    y = y.full_tensor() if isinstance(y, DTensor) else y
    assert torch.allclose(x, y.detach(), atol=1e-6), (x, y)


torch.manual_seed(0)
plain, weight = torch.randn(8, 6, requires_grad=True), torch.randn(6, 6)

# placements, and the ways to another one
x = distribute_tensor(plain, mesh, BOTH)
assert isinstance(x, DTensor) and not isinstance(plain, DTensor) and isinstance(x, torch.Tensor)
assert x.placements == BOTH and x.is_leaf and x.requires_grad and x.device_mesh == mesh
y = (x * 2).redistribute(mesh, NONE)
assert y.placements == NONE
(y.full_tensor() * torch.arange(6)).sum().backward()
assert x.grad.placements == BOTH
(plain * 2 * torch.arange(6)).sum().backward()
same(plain.grad, x.grad)
assert distribute_tensor(plain, mesh["model"], [Shard(0)]).placements == (Replicate(), Shard(0))
summed = DTensor.from_local(plain, mesh, [Shard(0), Partial()])
assert summed.placements == ROWS
same(plain.detach(), summed)

# what is made like a tensor, and what is written to it, lies as it does
q = zeros(8, 4, device_mesh=mesh, placements=ROWS)
random = randn(8, 4, device_mesh=mesh, placements=ROWS)
new = [q.new_zeros(8, 4), q.new_full((8, 4), 2), (q * 2).new_ones((8, 4)), q.new_empty(q.shape)]
for like in (torch.zeros_like(q), torch.rand_like(q), torch.zeros_like(q * 2), q.detach(), random, *new):
    assert like.placements == ROWS, like.placements
q[2:4] = 1
q.add_(1)
q.view(-1).mul_(2)
assert q.sum().item() == 80 and q.placements == ROWS

# so it is where no layout was asked for: what replaces all elements of a result takes as many bytes on each device
held = lambda tensor: {part.data.nbytes for part in tensor.jax().addressable_shards}
writes = [lambda r: r.fill_(3.0), lambda r: r.zero_(), lambda r: r.copy_(torch.ones(8, 4)), lambda r: r.normal_(),
          lambda r: r.__setitem__(slice(None), 1.0), lambda r: r.data.fill_(2.0)]  # fmt: skip
for write in (*writes, *map(torch.compile, writes)):
    result = q * 2
    write(result)
    assert result.placements == ROWS and held(result) == {8 * 4 * 4 // 4}, (result.placements, held(result))
torch.manual_seed(5)
spread = torch.nn.init.normal_(zeros(8, 4, device_mesh=mesh, placements=ROWS))
torch.manual_seed(5)
same(torch.nn.init.normal_(torch.zeros(8, 4)), spread)

# a number without dimensions meets it where it lies; what becomes a leaf has the layout that it was computed in
two = torch.tensor(2.0, requires_grad=True)
for y in (x * two, two - x, x.lerp(x, two), torch.where(x > 0, x, two), x.detach().clone().mul_(two)):
    assert y.placements == BOTH and str(y.device) == "cpu", y.placements
for leaf in (x.detach().clone().requires_grad_(), torch.nn.Parameter(x.detach() / 2),
             copy.deepcopy(torch.nn.Parameter(x.detach()))):  # fmt: skip
    optimizer = torch.optim.Adam([leaf])
    (leaf * two).sum().backward()
    optimizer.step()
    assert all(y.placements == BOTH for y in (leaf, leaf.grad, optimizer.state[leaf]["exp_avg"]))

# hooks, custom functions, checkpoints, saved tensors, transforms
w = distribute_tensor(weight, mesh, [Replicate(), Shard(0)]).requires_grad_()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0] ** 2


def gradient(x: Any, w: Any) -> Any:
    """Of first and second order. Its numbers stay small: the sine of a large one shows each rounding before."""
    seen: list[Any] = []
    y = torch.utils.checkpoint.checkpoint(lambda a: Cube.apply(a @ w / 4).sin(), x, use_reentrant=False)
    y.register_hook(lambda g: seen.append(g) or g * 2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        loss = (y.exp() + from_jax(jnp.sin)(y)).sum()
    (g,) = torch.autograd.grad(loss, w, create_graph=True)
    (h,) = torch.autograd.grad(g.pow(2).sum(), w)
    assert len(seen) == 2
    return g.detach(), h


free = weight.clone().requires_grad_()
for ours, alone in zip(gradient(x.detach(), w), gradient(plain.detach(), free), strict=True):
    assert torch.allclose(alone, ours.full_tensor(), rtol=1e-3, atol=1e-3)
f = lambda r, w: (r @ w).sin().sum()
same(torch.func.vmap(torch.func.grad(f), (0, None))(plain.detach(), weight),
     torch.func.vmap(torch.func.grad(f), (0, None))(x.detach(), w.detach()))  # fmt: skip
same(torch.func.jvp(torch.sin, (plain.detach(),), (plain.detach(),))[1],
     torch.func.jvp(torch.sin, (x.detach(),), (x.detach(),))[1])  # fmt: skip

# in one process what is local is all of it, in a compiled step, too
local = torch.compile(lambda x: torch.autograd.grad((x.to_local() * 2).square().sum(), x)[0].to_local())
for _ in range(4):
    found = local(x)
    assert found.placements == BOTH
    same(8 * plain.detach(), found)
assert local.replayed > 0, local.report()
refuses(RuntimeError, r"one program is compiled for all its devices.*call to_local\(\) or full_tensor\(\) outside",
        lambda: torch.compile(lambda x: x.full_tensor())(x))  # fmt: skip

# arrays of jax, both ways
array = x.detach().jax()
assert from_jax_array(array).placements == BOTH
found = jax.jit(jax.grad(to_jax(lambda x: (x * x).sum())))(array)
assert found.sharding.is_equivalent_to(array.sharding, 2)
same(2 * plain.detach(), from_jax_array(found))
assert "the tape and jax agree" in str(compare(lambda x: (x * x).sin(), x.detach()))
# bad input
ones = torch.ones(6)
refuses(RuntimeError, "dimension 0.*can't be split evenly: expected a multiple of 4, got 7; pad it to 8.*Replicate",
        lambda: distribute_tensor(torch.ones(7), mesh, ROWS))  # fmt: skip
refuses(ValueError, "same length as `device_mesh.ndim`! Found placements length: 1",
        lambda: distribute_tensor(ones, mesh, [Shard(0)]))  # fmt: skip
refuses(IndexError, "out of range", lambda: distribute_tensor(ones, mesh, [Shard(1), Replicate()]))
refuses(KeyError, "Invalid mesh_dim_name tp specified. Valid mesh_dim_names are", lambda: mesh["tp"])
refuses(RuntimeError, r"mixed torch.Tensor and DTensor.*distribute_tensor\(x, mesh", lambda: x + ones)
other = distribute_tensor(ones, init_device_mesh("cpu", (8,)))
refuses(RuntimeError, "two meshes.*distribute_tensor", lambda: x + other)
refuses(AttributeError, "no attribute 'placements'", lambda: ones.placements)
refuses(TypeError, r"full_tensor\(\).numpy", lambda: x.detach().numpy())
refuses(RuntimeError, "asks for device 8.*one of 8.*start more processes", lambda: init_device_mesh("cpu", (9,)))
refuses(RuntimeError, "leaf tensors", lambda: distribute_tensor(plain * 2, mesh))

# checkpoints: what one mesh wrote another reads, and one device
with tempfile.TemporaryDirectory() as folder:
    checkpoint.save({"model": {"x": x.detach(), "w": w.detach()}, "epoch": 3}, checkpoint_id=folder)
    turned = zeros(8, 6, device_mesh=init_device_mesh("cpu", (2,)), placements=[Shard(1)])
    state: dict = {"model": {"x": turned, "w": torch.zeros(6, 6)}, "epoch": 0}
    checkpoint.load(state, checkpoint_id=folder)
    assert turned.placements == (Shard(1),) and state["epoch"] == 3
    same(plain.detach(), turned)
    same(weight, state["model"]["w"])
    refuses(
        RuntimeError, "Missing key in checkpoint state_dict: y", lambda: checkpoint.load({"y": x}, checkpoint_id=folder)
    )
    (shards,) = Path(folder).glob("*.safetensors")
    shards.write_bytes(shards.read_bytes()[:100])
    refuses(RuntimeError, "torn.*safetensors", lambda: checkpoint.load(state, checkpoint_id=folder))
    shards.unlink()
    refuses(FileNotFoundError, "missing.*safetensors", lambda: checkpoint.load(state, checkpoint_id=folder))
refuses(FileNotFoundError, "no index.json", lambda: checkpoint.load(state, checkpoint_id=folder))
print("done")
