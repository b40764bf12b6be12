"""Pickles and deep copies of tensors that show their memory in parts, with gaps, or several times; of nodes there are
none."""

import copy
import pickle

import pytest
from harness import agree, attempt

pytestmark = pytest.mark.parity

TENSORS = {
    "expanded": lambda torch: torch.ones(1, 3).expand(4, 3),
    "expanded number": lambda torch: torch.tensor(2.0).expand(2, 2),
    "gapped": lambda torch: torch.arange(10.0)[::3],
    "column": lambda torch: torch.arange(12.0).reshape(3, 4)[:, 1],
    "transposed": lambda torch: torch.arange(6.0).reshape(2, 3).t(),
    "transposed, gapped": lambda torch: torch.arange(24.0).reshape(4, 6)[::2, ::2].t(),
    "part": lambda torch: torch.arange(10.0)[4:7],
    "written part": lambda torch: torch.arange(10.0).mul_(2)[4:7],
    "unfolded": lambda torch: torch.arange(5.0).unfold(0, 3, 1),
    "by strides": lambda torch: torch.arange(10.0).as_strided((2, 2), (1, 4), 3),
    "empty": lambda torch: torch.ones(0, 3),
    "empty part": lambda torch: torch.arange(4.0)[4:],
    "made with gaps": lambda torch: torch.empty_strided((2, 2), (5, 1)).fill_(1),
    "conjugated": lambda torch: torch.tensor([1 + 2j, 3j]).conj(),
    "negated": lambda torch: torch.tensor([1 + 2j, 3j]).conj().imag,
    "real parts": lambda torch: torch.view_as_real(torch.tensor([1 + 2j, 3 + 1j]))[:, 0],
    "integers": lambda torch: torch.arange(6)[::2],
    "bfloat16": lambda torch: torch.ones(4, dtype=torch.bfloat16)[::2],
    "leaf": lambda torch: torch.ones(2, 3).t().requires_grad_(),
    "leaf with gaps": lambda torch: torch.arange(6.0)[::2].detach().requires_grad_(),
    "parameter": lambda torch: torch.nn.Parameter(torch.ones(6)[::2]),
}


def shown(t):
    return [t.shape, t.stride(), t.storage_offset(), t.untyped_storage().nbytes(), t.detach().resolve_neg().tolist(),
            t.requires_grad, t.is_leaf, t.is_conj(), t.is_neg(), type(t).__name__, str(t.dtype)]  # fmt: skip


@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS.keys())
def test_a_pickle_keeps_memory_and_strides(make):
    def program(torch):
        back = pickle.loads(pickle.dumps(make(torch)))
        more = (back.detach() + 1).tolist()
        return shown(back), more

    agree(program)


@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS.keys())
def test_so_does_a_deep_copy(make):
    agree(lambda torch: shown(copy.deepcopy(make(torch))))


def test_what_was_pickled_can_be_written_to_and_differentiated():
    def program(torch):
        x = pickle.loads(pickle.dumps(torch.arange(12.0).reshape(3, 4)[:, 1]))
        x[1] = 7
        p = pickle.loads(pickle.dumps(torch.nn.Parameter(torch.arange(6.0)[::2])))
        (p * p * x).sum().backward()
        refused = attempt(lambda: pickle.loads(pickle.dumps(torch.ones(1, 3).expand(2, 3))).add_(1))
        return x, p.grad, refused

    agree(program)


def test_nodes_are_neither_copied_nor_pickled():
    def program(torch):
        x = torch.ones(2, requires_grad=True)
        y, z = x * x, x * 2
        z[0] = 1.0
        nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], z.grad_fn, (x // 2).grad_fn, y.grad_fn._raw_saved_self]
        things = [*nodes, [y.grad_fn], {"edge": torch.autograd.graph.get_gradient_edge(y)}, y.grad_fn.next_functions]
        pairs = [(act, thing) for thing in things for act in (copy.deepcopy, pickle.dumps)]
        pairs += [(copy.copy, node) for node in nodes]
        return [attempt(lambda act=act, thing=thing: act(thing)) for act, thing in pairs]

    agree(program)


def test_versions_of_inference_tensors():
    def program(torch):
        def versions(*tensors):
            return [attempt(lambda t=t: t._version) for t in tensors]

        normal = torch.ones(3)
        with torch.inference_mode():
            x, of_normal = torch.ones(3), normal[:2]
            v = x[:2]
            account = [versions(x, v, x.detach(), x.data, x.clone())]
            normal.add_(1)
        account.append(versions(x, v, x[0], x.detach(), x.data, v.detach(), x.view(3), x + 1, normal, of_normal))
        account.append([x.detach().is_inference(), x.data.is_inference(), x.detach()[:1].is_inference()])
        x.data = torch.zeros(3)
        normal.data = torch.ones(3)
        return account, versions(x, normal), x.is_inference()

    agree(program)
