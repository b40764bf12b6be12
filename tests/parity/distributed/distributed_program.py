"""A program for two processes, as PyTorch's tutorials have them: run by ``test_distributed.py`` on both libraries."""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def net(*widths):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(widths[0], widths[1]), nn.Tanh(), nn.Linear(widths[1], widths[2]))


def tell(what, number):
    with open(os.path.join(sys.argv[1], "told"), "a") as file:
        file.write(f"{rank} {what} {number:.4f}\n")


dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (2,))

# data parallel
torch.manual_seed(1)
data = TensorDataset(torch.randn(40, 6), torch.randn(40, 2))
sampler = DistributedSampler(data, shuffle=True, seed=3)
model = DistributedDataParallel(net(6, 8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    sampler.set_epoch(epoch)
    total = torch.zeros(1)
    for number, (x, y) in enumerate(DataLoader(data, batch_size=5, sampler=sampler)):
        loss = nn.functional.mse_loss(model(x), y)
        if number % 2 == 0:
            with model.no_sync():
                loss.backward()
            continue
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.detach()
    dist.all_reduce(total)
    tell("data", total.item())
with torch.no_grad():
    if rank == 0:
        tell("alone", model.module(torch.ones(3, 6)).sum().item())
        torch.save(model.state_dict(), os.path.join(sys.argv[1], "model.pt"))
dist.barrier()
model.load_state_dict(torch.load(os.path.join(sys.argv[1], "model.pt"), weights_only=True))

# parameters in parts
model = net(6, 8, 2)
fully_shard(model[0])
fully_shard(model)
assert isinstance(model, FSDPModule)
assert all(isinstance(p, DTensor) and p.placements == (Shard(0),) for p in model.parameters())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(3):
    torch.manual_seed(10 * step + rank)
    loss = model(torch.randn(4, 6)).pow(2).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell("parts", loss.item())
whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
assert len(whole) == (4 if rank == 0 else 0)
options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
set_model_state_dict(model, whole, options=options)
states = dict(zip(("model", "optim"), get_state_dict(model, optimizer), strict=True))
dcp.save(states, checkpoint_id=os.path.join(sys.argv[1], "shards"))
with torch.no_grad():
    model[0].weight.zero_()
dcp.load(states, checkpoint_id=os.path.join(sys.argv[1], "shards"))
set_state_dict(model, optimizer, model_state_dict=states["model"], optim_state_dict=states["optim"])
tell("loaded", model[0].weight.full_tensor().sum().item())

# matrices in parts
plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
model = parallelize_module(net(6, 8, 2), mesh, plan)
assert model[0].weight.placements == (Shard(0),) and model[2].bias.placements == (Replicate(),)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    torch.manual_seed(step)
    loss = model(torch.randn(4, 6)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    tell("matrices", loss.item())
dist.barrier()
dist.destroy_process_group()
