"""Membership, places counted in a row, and hashes, beside PyTorch's."""

import numpy as np
import pytest
from harness import same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A, V = array(2, 3), array(4)
INTS = np.array([[3, 1, 3], [4, 4, 0]])


SETS = {
    "isin": lambda torch, x, n: torch.isin(n, n[0]),
    "isin, number": lambda torch, x, n: [torch.isin(n, 3), torch.isin(3, n), torch.isin(element=7, test_elements=n)],
    "isin, inverted": lambda torch, x, n: torch.isin(x, x[0], assume_unique=True, invert=True),
    "isin, promoted": lambda torch, x, n: torch.isin(n, torch.tensor([3.0, 4.5])),
    "isin, many": lambda torch, x, n: torch.isin(n, torch.arange(3, 40)),
    "isin, nan": lambda torch, x, n: torch.isin(x / (x * 0), x / (x * 0)),
    "isin, nothing": lambda torch, x, n: torch.isin(n, n[:0]),
    "isin, half": lambda torch, x, n: torch.isin(x.half(), x[:1].half()),
    "unravel_index": lambda torch, x, n: torch.unravel_index(n, (2, 3)),
    "unravel_index, vector": lambda torch, x, n: torch.unravel_index(n.int(), 6),
    "unravel_index, around": lambda torch, x, n: torch.unravel_index(n - 4, torch.Size((2, 3))),
    "unravel_index, no dimensions": lambda torch, x, n: torch.unravel_index(n, ()),
    "nonzero_static": lambda torch, x, n: [torch.nonzero_static(n, size=size) for size in (2, 7)],
    "nonzero_static, filled": lambda torch, x, n: n.nonzero_static(size=7, fill_value=9),
    "nonzero_static, 0-dim": lambda torch, x, n: torch.nonzero_static(n[0, 0], size=2),
    "nonzero_static, empty": lambda torch, x, n: torch.nonzero_static(x[:0], size=2),
    "hash_tensor": lambda torch, x, n: [torch.hash_tensor(x).to(torch.int64), n.hash_tensor(1, keepdim=True).long()],
    "hash_tensor, dtypes": lambda torch, x, n: [
        torch.hash_tensor(x.to(kind), 0).long() for kind in (torch.float16, torch.float32, torch.int8, torch.bool)
    ],
    "hash_tensor, dtype": lambda torch, x, n: str(torch.hash_tensor(x).dtype),
}


@pytest.mark.parametrize("case", SETS)
def test_sets(case):
    same(SETS[case], A, INTS, grads=False)


SET_ERRORS = {
    "isin, complex": lambda torch, x: torch.isin(x + 1j, x),
    "isin, bool": lambda torch, x: torch.isin(x > 0, x > 0),
    "unravel_index, floats": lambda torch, x: torch.unravel_index(x, (2, 3)),
    "unravel_index, negative": lambda torch, x: torch.unravel_index(x.long(), (2, -3)),
    "unravel_index, shape": lambda torch, x: torch.unravel_index(x.long(), 2.5),
    "unravel_index, floats in the shape": lambda torch, x: torch.unravel_index(x.long(), (2, 2.5)),
    "unravel_index, empty": lambda torch, x: torch.unravel_index(x.long(), (2, 0)),
    "nonzero_static, size": lambda torch, x: torch.nonzero_static(x, size=-2),
    "nonzero_static, float": lambda torch, x: torch.nonzero_static(x, size=2.5),
    "hash_tensor, mode": lambda torch, x: torch.hash_tensor(x, mode=1),
    "hash_tensor, complex": lambda torch, x: torch.hash_tensor(x + 1j),
    "hash_tensor, nothing": lambda torch, x: torch.hash_tensor(x[:0]),
    "hash_tensor, empty": lambda torch, x: torch.hash_tensor(x[:0], 0),
    "hash_tensor, dim": lambda torch, x: torch.hash_tensor(x, (0, 0)),
    "hash_tensor, out": lambda torch, x: torch.hash_tensor(x, out=torch.empty(0)),
}


@pytest.mark.parametrize("case", SET_ERRORS)
def test_set_errors(case):
    same_error(SET_ERRORS[case], A)


@pytest.mark.parametrize("given", [(2, 2), ("a", 2)], ids=str)
def test_isin_needs_a_tensor(given):
    same_error(lambda torch: torch.isin(*given), match="isin() received an invalid combination of arguments - got (")
