"""Writes to sparse tensors, beside PyTorch's: which memory they reach, how they count, which dtypes they refuse."""

import pytest
from sparse_programs import same, split

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

BEGIN = """
k = C(i, torch.tensor([1, 2, 3]), (2, 3))
x = v.clone()
t = C(i, x, (2, 3))

def counts(write, a, *others):
    write(a)
    return [one._version for one in (a, *others)], a, others
"""

VERSIONS = split("""
counts(lambda a: a.mul_(2), c), counts(lambda a: a.add_(a), s), counts(lambda a: a.sub_(a), u)
counts(lambda a: a.sin_(), c)
counts(lambda a: a.zero_(), s), counts(lambda a: a.copy_(u), s), counts(lambda a: a.neg_(), s, s.detach())
counts(lambda a: a.div_(2), s, s.data, s.clone(), s._values()), counts(lambda a: a.mul_(2), c, c.detach(), c._values())
counts(lambda a: a.mul_(2), r, r.values(), r.detach())
counts(lambda a: a.zero_(), r, r.values())
counts(lambda a: a.add_(a), r), counts(lambda a: a.copy_(a * 2), r), counts(lambda a: a.sin_(), r, r.values())
counts(lambda a: a._values().add_(1), t, x), counts(lambda a: x.mul_(2), t, x), counts(lambda a: a.neg_(), t, x)
counts(lambda a: a.mul_(2), t, x), counts(lambda a: a.floor_divide_(2), c, c._values())
counts(torch.zeros_like, s), counts(torch.empty_like, r), C([[1, 0]], x[:2]).floor_divide_(2),
counts(lambda a: (a.mul_(2), a.mul_(3)), c, c.detach()), counts(lambda a: a.detach().zero_(), s)
[one.is_coalesced() for one in (c.clone().mul_(2), c.clone().add_(c), c.clone().sub_(c), c.clone().div_(2), c.sin_())]
""")

REFUSED = split("""
k.mul_(1.5)
k.div_(2)
k.coalesce().div_(2, rounding_mode="floor"), k.mul_(2), s.mul_(torch.tensor(2.0, dtype=torch.float64)).dtype
k.coalesce().sqrt_()
k.add_(s)
k.add(k, alpha=1.5)
s.mul_(1j)
s.copy_(w.t())
r.copy_(s.to_sparse_csr())
r.copy_(d)
r.add_(d)
s.copy_(r)
""")


@pytest.mark.parametrize("lines", [VERSIONS, REFUSED], ids=["versions", "refused"])
@pytest.mark.once("counts and texts: nothing depends on the order")
def test_writes(lines):
    for line in lines:  # each begins anew: what is written to is not what it was
        same(BEGIN, line)
