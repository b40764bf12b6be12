"""Bags of embeddings, beside PyTorch's."""

import pytest
from case_tables import ids
from case_tables import uniform as of
from expressions import expression
from harness import agree, same, same_error

TABLE, NUMBERS, OFFSETS, SAMPLE_WEIGHTS = of(5, 3), ids(1, 2, 2, 4, 0), ids(0, 2, 2, 3), of(5)
BAGS = {
    **{mode: (f"F.embedding_bag(y, x, z, mode='{mode}')", TABLE, NUMBERS, OFFSETS) for mode in ("sum", "mean", "max")},
    "rows": ("F.embedding_bag(y, x)", TABLE, ids([1, 2], [3, 3])),
    "last": ("F.embedding_bag(y, x, z, mode='sum', include_last_offset=True)", TABLE, NUMBERS, OFFSETS),
    "padding": ("F.embedding_bag(y, x, z, padding_idx=2)", TABLE, NUMBERS, OFFSETS),
    "padding, max": ("F.embedding_bag(y, x, z, mode='max', padding_idx=-3)", TABLE, NUMBERS, OFFSETS),
    "frequency": ("F.embedding_bag(y, x, z, scale_grad_by_freq=True)", TABLE, ids(0, 1, 2, 2, 2), OFFSETS),
    "weights": ("F.embedding_bag(L([1, 2, 2, 4, 0]), x, z, mode='sum', per_sample_weights=y)", TABLE, SAMPLE_WEIGHTS,
                OFFSETS),
    "nothing": ("F.embedding_bag(y[:0], x, z[:2] * 0, mode='max')", TABLE, NUMBERS, OFFSETS),
    "int32": ("F.embedding_bag(y.int(), x, z.int(), mode='sum')", TABLE, NUMBERS, OFFSETS),
    "all results": ("torch.embedding_bag(x, y, z, False, 2)", TABLE, NUMBERS, OFFSETS),
}  # fmt: skip


@pytest.mark.parametrize("case", BAGS)
def test_embedding_bag(case):
    text, *inputs = BAGS[case]
    same(expression(text), *inputs, second=False)


def test_embedding_bag_shrinks_the_rows_it_uses():
    def program(torch):
        weight = torch.ones(3, 4, dtype=torch.float64)
        out = torch.nn.functional.embedding_bag(torch.tensor([[0, 2]]), weight, max_norm=1.0)
        return [out, weight]

    agree(program)


BAG_ERRORS = [
    "F.embedding_bag(y, x)", "F.embedding_bag(y, x, z[None])", "F.embedding_bag(y[None, None], x)",
    "F.embedding_bag(y, x, z, mode='foo')", "F.embedding_bag(y, x, z, per_sample_weights=x[0])",
    "F.embedding_bag(y, x, z, per_sample_weights=x[:, 0])", "F.embedding_bag(y, x[0], z)",
    "F.embedding_bag(y, x, z, mode='max', scale_grad_by_freq=True)",
    "F.embedding_bag(y, x, z, mode='max', sparse=True)",
    "F.embedding_bag(y + 3, x, z)", "F.embedding_bag(y - 1, x, z)", "F.embedding_bag(y.int().float(), x, z)",
    "F.embedding_bag(y, x.int(), z)", "F.embedding_bag(y, x, z, padding_idx=7)", "F.embedding_bag(y, x, z + 3)",
    "F.embedding_bag(y + 3, x, z, mode='sum')", "F.embedding_bag(y.int().float(), x, z, mode='sum')",
    "F.embedding_bag(y, x, z[:0], include_last_offset=True)", "F.embedding_bag(y, x, L([0, 9]))",
    "F.embedding_bag(y, x, z, mode='sum', per_sample_weights=x[:, 0].float())",
]  # fmt: skip


@pytest.mark.parametrize("text", BAG_ERRORS)
def test_bag_errors(text):
    lines = expression(text)
    same_error(lines, TABLE, NUMBERS, OFFSETS, match="offsets[0] has to be 0" if text.endswith("z + 3)") else None)
