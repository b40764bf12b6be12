"""``torch.utils._pytree``: trees are taken apart, put together, and refused as PyTorch does it."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch.utils._pytree as theirs
from transcripts import MODULES, plain, transcript

import tapegrad.utils._pytree as ours

pytestmark = [pytest.mark.parity, pytest.mark.once("takes trees apart")]

Point = namedtuple("Point", "x y")


class Pair:
    """A node with keys, once it is registered."""

    def __init__(self, left, right):
        self.left, self.right = left, right

    def __repr__(self):
        return f"Pair({self.left}, {self.right})"


class Bag(list):
    """A node without keys."""


for _module in (theirs, ours):
    _module.register_pytree_node(
        Pair, lambda pair: ([pair.left, pair.right], None), lambda children, context: Pair(*children),
        flatten_with_keys_fn=lambda pair, module=_module: (
            [(module.GetAttrKey("left"), pair.left), (module.GetAttrKey("right"), pair.right)], None
        ),
    )  # fmt: skip
    _module.register_pytree_node(Bag, lambda bag: (list(bag), len(bag)), lambda children, context: Bag(children))

NAMES = {one.__name__: one for one in (OrderedDict, defaultdict, deque, Point, Pair, Bag)}
TREES = """
1
None
()
{"b": 1, "a": [2, (3, {})]}
OrderedDict(z=1, y=(2,))
defaultdict(list, {"k": [1, 2]})
deque([1, [2]], maxlen=3)
Point(1, Point(2, [3]))
Pair(1, {"a": Pair(2, 3)})
Bag([1, 2])
""".strip().splitlines()
QUESTIONS = """
p.tree_flatten(tree)
p.tree_unflatten([10 * leaf if leaf else leaf for leaf in p.tree_leaves(tree)], p.tree_structure(tree))
p.tree_flatten_with_path(tree)
[p.keystr(path) for path, _ in p.tree_leaves_with_path(tree)]
[p.key_get(tree, path) for path, _ in p.tree_leaves_with_path(tree)]
p.tree_map(lambda a, b: (a, b), tree, tree)
p.tree_map_with_path(lambda path, leaf: p.keystr(path), tree)
p.tree_map(str, tree, is_leaf=lambda part: isinstance(part, list))
p.tree_map_only(int, lambda leaf: -leaf, tree), p.tree_map_only((int, str), str, tree)
p.tree_map_only(lambda leaf: leaf == 2, lambda leaf: "two", tree)
p.tree_all(bool, tree), p.tree_any(bool, tree), p.tree_all_only(int, bool, tree), p.tree_any_only(str, bool, tree)
p.tree_is_leaf(tree), list(p.tree_iter(tree)), p.treespec_pprint(p.tree_structure(tree))
[(s.type, s.num_nodes, s.num_leaves, s.num_children, s.is_leaf(), list(s.children())) for s in [p.tree_structure(tree)]]
p.is_namedtuple(tree), p.is_namedtuple_class(type(tree)), p.is_structseq(tree), p.is_structseq_instance(tree)
p.tree_structure(tree) == p.tree_structure(p.tree_map(str, tree))
""".strip().splitlines()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("tree", TREES)
def test_trees(tree, question):
    same(question, tree=eval(tree, dict(NAMES)))


OTHERWISE = """
p.tree_unflatten([1, 2], p.tree_structure((1,)))
p.tree_unflatten([1], (1,))
p.tree_map(max, (1, 2), (1,))
p.tree_map(max, (1, 2), [1, 2])
p.tree_map(max, {"a": 1}, {"b": 1})
p.tree_map(max, {"a": 1, "b": 2}, OrderedDict(b=3, a=1))
p.tree_map(max, (1, 2), 3)
p.tree_map(max, Bag([1]), Bag([1, 2]))
p.tree_map(lambda a, b: b, [1, 2], [(3, 4), {}])
p.tree_map(max, deque([1], maxlen=2), deque([1]))
p.tree_map_only(3, str, (1,))
p.tree_flatten_with_path(Bag([1, 2]))
p.register_pytree_node(dict, None, None)
p.register_pytree_node(Pair, None, None)
seen = []; (p.tree_map_(seen.append, (1, [2])), seen)
seen = []; (p.tree_map_only_(int, seen.append, (1, ["a"])), seen)
""".strip().splitlines()


@pytest.mark.parametrize("line", OTHERWISE)
def test_misfits(line):
    same(line)


def same(line, **names):
    shown = [transcript(lib, line, p=lib.utils._pytree, **NAMES, **names) for lib in MODULES]
    ours_shown, theirs_shown = plain(str(shown[1])), plain(str(shown[0]))
    assert ours_shown == theirs_shown


def test_results_with_names_are_nodes():
    import torch

    import tapegrad

    for lib, module in ((torch, theirs), (tapegrad, ours)):
        found = lib.max(lib.tensor([[1.0, 2.0]]), 1)
        leaves, spec = module.tree_flatten(found)
        again = module.tree_unflatten(leaves, spec)
        assert type(again) is type(found) and again.values == 2 and spec.num_leaves == 2
        mapped = lib.func.vmap(lambda x: x.max(0))(lib.tensor([[1.0, 2.0], [4.0, 3.0]]))
        assert mapped.values.tolist() == [2, 4] and type(mapped) is type(found)


def test_transforms_know_registered_nodes():
    import tapegrad as torch

    made = torch.func.vmap(lambda x: Pair(x + 1, {"sum": x.sum()}))(torch.ones(2, 3))
    assert made.left.shape == (2, 3) and made.right["sum"].tolist() == [3, 3]
    step = torch.compile(lambda pair: Pair(pair.left * 2, pair.right))
    assert [step(Pair(torch.ones(1), torch.zeros(1))).left.item() for _ in range(3)] == [2, 2, 2]


@pytest.mark.parametrize("tree", [(1, 2), [1], {"a": 1}, OrderedDict(a=2), deque([1], maxlen=3), defaultdict(int, a=1),
                                  Point(1, (2, 3))], ids=repr)  # fmt: skip
def test_nodes_by_class(tree):
    """Libraries take single nodes apart, and put together specs of their own."""

    def program(lib):
        node = lib.SUPPORTED_NODES[lib._get_node_type(tree)]
        parts, context = node.flatten_fn(tree)
        spec = lib.TreeSpec(lib._get_node_type(tree), context, [lib.LeafSpec()] * len(list(parts)))
        again = [node.unflatten_fn(list(parts), context), lib.tree_unflatten(list(parts), spec)]
        return list(parts), context, [type(one) for one in again], again, repr(spec)

    with pytest.warns(FutureWarning, match="LeafSpec"):
        expected = program(theirs)
    assert program(ours) == expected
