"""What three processes send one another, and compute together. Started by ``test_processes.py``."""

from datetime import timedelta

import tapegrad as torch
import tapegrad.distributed as dist
from tapegrad.distributed import nn

dist.init_process_group(timeout=timedelta(seconds=60))
rank, count = dist.get_rank(), dist.get_world_size()

# groups
first, last = dist.new_group([0, 1]), dist.new_group([1, 2])
assert (dist.get_rank(first), dist.get_rank(last)) == [(0, -1), (1, 0), (-1, 1)][rank]
if rank < 2:
    x = torch.tensor([rank + 1.0])
    work = dist.all_reduce(x, group=first, async_op=True)
    assert work.wait() and x.item() == 3
if rank > 0:
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x, dist.ReduceOp.MAX, group=last)
    assert x.item() == 3
    dist.broadcast(x := torch.tensor([float(rank)]), src=2, group=last)
    assert x.item() == 2
    dist.barrier(last)

# one to all, all to one, one to one
x = torch.zeros(2)
dist.scatter(x, [torch.full((2,), float(i)) for i in range(count)] if rank == 1 else None, src=1)
assert x.tolist() == [rank, rank]
found = [torch.zeros(2) for _ in range(count)] if rank == 2 else None
dist.gather(x, found, dst=2)
assert rank != 2 or [y[0].item() for y in found] == [0, 1, 2]
dist.reduce(x := torch.tensor([1.0]), 0)
assert x.item() == (3 if rank == 0 else 1)
dist.all_reduce(x := torch.tensor([5 if rank != 1 else 6]), dist.ReduceOp.BAND)
assert x.item() == 4
given = [None]
dist.scatter_object_list(given, [{"a": i} for i in range(count)] if rank == 0 else None, src=0)
assert given == [{"a": rank}]
given = [None] * count if rank == 0 else None
dist.gather_object(rank * 10, given, dst=0)
assert given in ([0, 10, 20], None)
before, x, y = (rank - 1) % count, torch.tensor([rank, rank + 1]), torch.zeros(2, dtype=torch.int64)
sent = dist.batch_isend_irecv([dist.P2POp(dist.irecv, y, before), dist.P2POp(dist.isend, x, (rank + 1) % count)])
assert all(work.wait() for work in sent)
assert y.tolist() == [before, before + 1]

# derivatives
x = torch.tensor([rank + 1.0], requires_grad=True)
(nn.all_reduce(x) * (rank + 1)).sum().backward()
assert x.grad.item() == 6
x.grad = None
y = nn.all_gather(x)
(y[0] * 1 + y[1] * 2 + y[2] * 3).sum().backward()
assert x.grad.item() == 3 * (rank + 1)
x.grad = None
y = nn.broadcast(x, 1)
y.sum().backward()
assert (y.item(), x.grad.item()) == (2, 3 if rank == 1 else 0)

# bad input
for call, words in (
    (lambda: dist.send(torch.ones(1), 7), "there is no such rank: expected 0 to 2, got 7"),
    (lambda: dist.all_reduce(x, group=dist.GroupMember.NON_GROUP_MEMBER), "this process is not in it"),
    (lambda: dist.new_group([0, 5]), "different ranks that there are: expected 0 to 2"),
):
    try:
        call()
    except ValueError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
print("ok", flush=True)
dist.destroy_process_group()
