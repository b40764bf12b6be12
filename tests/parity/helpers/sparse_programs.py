"""Programs of sparse tensors, a line each: what they show on tapegrad is what they show on PyTorch.

    same("x = torch.ones(2)", "x + 1", "x @ s")
"""

from harness import attempt
from transcripts import MODULES

BEGIN = """
C = torch.sparse_coo_tensor
i, v, w = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0]), torch.arange(6.0).view(3, 2)
s, u = C(i, v, (2, 3)), C(torch.tensor([[0, 0], [1, 1]]), torch.tensor([1.0, 2.0]), (2, 3))
c, e = s.coalesce(), C([[0, 1], [1, 2]], [7.0, 2.0], (2, 3)).coalesce()
h = C([[1, 0]], torch.arange(4.0).view(2, 2), (3, 2))
d = torch.tensor([[0.0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0], [0, 0, 5, 0]])
r = d.to_sparse_csr()
F = torch.nn.functional
"""


def shown(found):
    """A text of what a program gives, without what messages add to PyTorch's sentence."""
    text = found[2] if isinstance(found, list) and found[:1] == ["raised"] else repr(found)
    return text.partition("This could be")[0].partition(" object at ")[0]


def same(begin, *lines):
    """Assert that lines show the same on both."""
    texts = []
    for module in MODULES:
        names = {"torch": module}
        exec(BEGIN + begin, names)
        texts.append([shown(attempt(lambda: eval(line, names))) for line in lines])  # noqa: B023 - called at once
    for line, theirs, ours in zip(lines, *texts, strict=True):
        assert ours == theirs, f"{line}\n{ours}\nexpected\n{theirs}"


def split(text):
    return [line for line in text.strip().splitlines() if line]
