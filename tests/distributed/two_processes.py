"""What two processes of one device each compute together, with the models that are named.

Started by ``test_processes.py``, with two ranks.
"""

import sys
from contextlib import nullcontext
from datetime import timedelta

import jax
from sharded_models import MLP, Block, ConvNet, data, loss_of

import tapegrad as torch
import tapegrad.distributed as dist
from tapegrad.distributed.device_mesh import init_device_mesh
from tapegrad.distributed.tensor import DTensor, Shard, distribute_module, distribute_tensor

dist.init_process_group(timeout=timedelta(seconds=60))
rank = dist.get_rank()
assert (dist.get_world_size(), dist.is_initialized(), jax.device_count()) == (2, True, 2)

# collectives
x = torch.tensor([1.0, 2.0]) * (rank + 1)
dist.all_reduce(x)
assert x.tolist() == [3, 6]
parts = [torch.zeros(1), torch.zeros(1)]
dist.all_gather(parts, torch.tensor([float(rank)]))
assert [part.item() for part in parts] == [0, 1]
y = torch.tensor([rank, rank])
dist.broadcast(y, src=1)
assert y.tolist() == [1, 1]
z = torch.zeros(2)
dist.reduce_scatter_tensor(z, torch.arange(4.0))
assert z.tolist() == [[0, 2], [4, 6]][rank]
w = torch.zeros(2)
dist.all_to_all_single(w, torch.tensor([0.0, 1.0]) + 10 * rank)
assert w.tolist() == [rank, 10 + rank]
found = [None, None]
dist.all_gather_object(found, {"rank": rank})
assert found == [{"rank": 0}, {"rank": 1}]
dist.barrier()

# tensors on a mesh of both
mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("data",))
local = torch.full((2, 3), float(rank), requires_grad=True)
whole = DTensor.from_local(local, mesh, [Shard(0)])
assert whole.shape == (4, 3) and whole.sum().item() == 6
try:
    whole.tolist()
except RuntimeError as error:
    assert "full_tensor()" in str(error) and "to_local()" in str(error), error
else:
    raise AssertionError("read what this process does not hold")
assert whole.full_tensor()[:, 0].tolist() == [0, 0, 1, 1]
(whole * torch.distributed.tensor.ones(4, 3, device_mesh=mesh, placements=[Shard(0)])).pow(2).sum().backward()
assert local.grad[0, 0].item() == 2 * rank


# trajectories
def trajectory(kind: type, spread: bool, way: str) -> list[float]:
    torch.manual_seed(0)
    model = kind()
    x, y = data(model)
    if spread:
        model = distribute_module(model, mesh)
        x, y = (distribute_tensor(given, mesh, [Shard(0)]) for given in (x, y))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if way == "compiled" else step
    losses = []
    for _ in range(12):
        with torch.deferred() if way == "deferred" else nullcontext():
            losses.append(run().item())
    return losses


for kind in (kind for kind in (MLP, ConvNet, Block) if kind.__name__ in sys.argv):
    alone = trajectory(kind, False, "at once")
    for way in ("at once", "deferred", "compiled"):
        together = trajectory(kind, True, way)
        worst = max(abs(a - b) for a, b in zip(alone, together, strict=True))
        assert worst < 1e-6, (kind, way, worst)

# what PyTorch's users write: each process has its part of the batch
torch.manual_seed(0)
one = MLP()
x, y = data(one)
torch.manual_seed(0)
ddp = torch.nn.parallel.DistributedDataParallel(MLP())
mine = list(torch.utils.data.DistributedSampler(range(16), shuffle=False))
for part, model in ((range(16), one), (mine, ddp)):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss_of(model, x[list(part)], y[list(part)]).backward()
        optimizer.step()
for p, q in zip(one.parameters(), ddp.parameters(), strict=True):
    assert torch.allclose(p, q.full_tensor(), atol=1e-6)

torch.manual_seed(0)
sharded = dist.fsdp.fully_shard(MLP())
assert sharded.up.weight.placements == (Shard(0),)
whole = [distribute_tensor(given, init_device_mesh("cpu", (2,)), [Shard(0)]) for given in (x, y)]
optimizer = torch.optim.SGD(sharded.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss_of(sharded, *whole).backward()
    optimizer.step()
for p, q in zip(one.parameters(), sharded.parameters(), strict=True):
    assert torch.allclose(p, q.full_tensor(), atol=1e-6)
dist.barrier()
dist.destroy_process_group()
print("rank", rank, "done", flush=True)
