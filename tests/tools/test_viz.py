"""The picture of a tape: every node and every edge of it, folding, modules, what was recorded, and bad input."""

import re
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

import tapegrad as torch
from tapegrad import nn
from tapegrad._src.tape.node import Node
from tapegrad.viz.dot import has_graphviz, laid_out
from tapegrad.viz.folding import repeats
from tapegrad.viz.layered_layout import layered, longest_paths, without_cycles
from tapegrad.viz.placing import TIMES, lines_of, title_of

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg):
    """The lines of text in each box, by its key."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    found = {group.get("data-box"): [text.text for text in group.iter(f"{SVG}text")] for group in groups}
    found.pop(None)
    return found


def edges(svg):
    """The keys at the ends of each edge."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return [(group.get("data-from"), group.get("data-to")) for group in groups if group.get("data-edge")]


def named_edges(svg):
    """The first lines of the boxes at the ends of each edge."""
    lines = boxes(svg)
    return sorted((lines[one][0], lines[other][0]) for one, other in edges(svg))


def edges_in_dot(dot):
    return re.findall(r"^ +(b\d+) -> (b\d+) \[", dot, re.MULTILINE)


def labels_in_dot(dot):
    """The first line of every node."""
    return dict(re.findall(r'^ +(b\d+) \[label="(.*?)(?:\\n.*?)?", ', dot, re.MULTILINE))


def tape_of(tensor):
    """The edges of a graph by the names of their ends, as the nodes themselves tell."""
    root = tensor.grad_fn
    stack, seen, found = [root], {root}, []
    while stack:
        node = stack.pop()
        for successor, _ in node.next_functions:
            if successor is not None:
                found.append((short_name(node), short_name(successor)))
                if successor not in seen:
                    seen.add(successor)
                    stack.append(successor)
    return sorted(found)


def short_name(node):
    return node.name().split("::")[-1]


def program():
    x = torch.tensor([[1.0, 2.0, 4.0]], requires_grad=True)
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    return x, w, ((x * w).exp() + x * 3).sum()


def loop(steps):
    w = torch.tensor([0.5, 0.25], requires_grad=True)
    h = torch.ones(2)
    for _ in range(steps):
        h = (h * w).tanh() + 1
    return w, h.sum()


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(5)])

    def forward(self, x):
        return self.layers(self.first(x))


# Every node and every edge --------------------------------------------------------------------------------------------


def test_every_node_leaf_and_saved_shape_is_there():
    x, w, loss = program()
    drawn = list(boxes(loss.graph({"x": x, "w": w}, title="loss").svg()).values())
    assert sorted(lines[0] for lines in drawn) == sorted(
        ["loss", "SumBackward0", "AddBackward0", "ExpBackward0", "MulBackward0", "MulBackward0", "x", "w"]
    )
    assert ["loss", "f32[]"] in drawn
    assert ["x", "f32[1, 3]"] in drawn
    assert ["w", "f32[3]"] in drawn
    assert ["ExpBackward0", "f32[1, 3]", "saves f32[1, 3], 12 B"] in drawn
    assert ["AddBackward0", "f32[1, 3]"] in drawn


@pytest.mark.parametrize("fold", [True, False])
def test_the_edges_are_those_of_the_tape(fold):
    _x, _w, loss = program()
    picture = loss.graph(fold=fold)
    expected = [("tensor", "SumBackward0"), *tape_of(loss)]
    expected = sorted((one, other.replace("AccumulateGrad", "leaf")) for one, other in expected)
    assert named_edges(picture.svg()) == expected
    dot = picture.dot()
    names = labels_in_dot(dot)
    assert sorted((names[one], names[other]) for one, other in edges_in_dot(dot)) == expected
    assert names.keys() == boxes(picture.svg()).keys()


def test_without_folding_a_loop_is_drawn_node_by_node():
    _, loss = loop(12)
    picture = loss.graph(fold=False)
    expected = [("tensor", "SumBackward0"), *tape_of(loss)]
    assert named_edges(picture.svg()) == sorted((a, b.replace("AccumulateGrad", "leaf")) for a, b in expected)


def test_edges_tell_the_shape_of_the_gradient_and_how_many_they_are():
    x = torch.tensor([2.0, 1.0], requires_grad=True)
    svg = (x * x).graph().svg()
    titles = [
        one.find(f"{SVG}title").text for one in ElementTree.fromstring(svg).iter(f"{SVG}g") if one.get("data-edge")
    ]
    assert titles == ["tensor → MulBackward0: f32[2]", "MulBackward0 → leaf: f32[2], 2 edges"]
    assert svg.count('style="stroke-width: 2.4"') == 1
    first, second = torch.ones(4, requires_grad=True).unbind()[0].graph().edges
    assert first.texts == ["f32[] in slot 0"] and second.texts == ["f32[4]"]


def test_names_that_need_escaping():
    x, _, loss = program()
    picture = loss.graph({'a<b & "c"': x}, title="</script>")
    assert ['a<b & "c"', "f32[1, 3]"] in boxes(picture.svg()).values()
    assert r"a<b & \"c\"\n" in picture.dot()
    assert picture.html().count("</script>") == 2


def test_several_roots_nodes_and_gradient_edges():
    x, _w, loss = program()
    other = (x * 2).exp()
    edge = torch.autograd.graph.get_gradient_edge(other)
    picture = torch.viz.graph([loss, other.grad_fn, edge])
    ends = named_edges(picture.svg())
    assert [pair for pair in ends if pair[0] == "tensor"] == [
        ("tensor", "ExpBackward0"), ("tensor", "ExpBackward0"), ("tensor", "SumBackward0")
    ]  # fmt: skip
    assert torch.viz.graph(x).nodes == 0 and torch.viz.graph(x).leaves == 1


def test_custom_functions_hooks_and_what_is_packed():
    class Twice(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return ctx.saved_tensors[0] * grad

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Twice.apply(x)
    assert ["TwiceBackward", "f32[2]", "saves f32[2], 8 B"] in boxes(y.graph().svg()).values()
    y.sum().backward()  # nothing was read
    unpacked = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t) or t):
        z = x.exp()
    assert "packed by a hook" in z.graph().svg() and not unpacked


def test_drawing_changes_nothing_and_a_freed_graph_says_so():
    x, _, loss = program()
    assert loss.graph().svg() == loss.graph().svg()
    before = loss.graph()
    loss.backward()
    assert x.grad is not None
    after = loss.graph()
    assert "saves f32" in before.svg() and "saves f32" not in after.svg()
    assert any(line.startswith("what it saved was freed by the backward call at ") for line in after.caption)
    assert not any("freed" in line for line in before.caption)
    assert before.caption[1] == "saved for backward: 44 B"


def test_what_several_nodes_save_counts_once():
    x = torch.ones(100, requires_grad=True)
    y = x.exp()
    assert (y.sin() + y.cos()).graph().caption[1] == "saved for backward: 400 B"


# Folding --------------------------------------------------------------------------------------------------------------


def test_a_loop_is_one_box():
    w, loss = loop(50)
    picture = loss.graph({"w": w})
    assert str(picture).splitlines() == [
        "graph of 151 nodes and 1 leaf", "saved for backward: 808 B", "tensor f32[]", "SumBackward0 f32[]",
        f"repeated {TIMES} 50", "  AddBackward0 f32[2]", "  TanhBackward0 f32[2]  saves f32[2], 8 B",
        "  MulBackward0 f32[2]   saves f32[2] f32[2], 16 B", "w f32[2]",
    ]  # fmt: skip
    carried = [edge for edge in picture.edges if edge.carried]
    assert [(edge.source.description.name, edge.target.description.name, edge.count) for edge in carried] == [
        ("MulBackward0", "AddBackward0", 49)
    ]
    assert sum(edge.count for edge in picture.edges) == 1 + len(tape_of(loss))
    assert len(boxes(picture.svg())) == 7 and len(edges(picture.svg())) == len(picture.edges) == 6


def test_loops_in_loops():
    w = torch.tensor(0.5, requires_grad=True)
    h = w
    for _ in range(6):
        for _ in range(5):
            h = (h * w).sin()
        h = h.exp()
    picture = h.graph()
    counts = {edge.source.description.name: [one.count for one in edge.source.ways_out()] for edge in picture.edges}
    assert counts["MulBackward0"] == [1, 5, 6, 1] and counts["ExpBackward0"] == [1, 6, 1]
    assert [box.description.details[0] for box in picture.boxes.values() if box.opens] == ["11 nodes", "2 nodes"]
    assert sorted(map(id, picture._top.members())) == sorted({*map(id, picture._top.members())})
    assert len(list(picture._top.members())) == picture.nodes + picture.leaves
    assert sum(edge.count for edge in picture.edges) == 1 + len(tape_of(h))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("abcabcabc", [(0, 3, 3)]),
        ("xabababababx", [(1, 2, 5)]),
        ("aab" * 9 + "q", [(0, 3, 9)]),
        ("abcdef", []),
        ("abab", []),
        ("", []),
        ("a" * 9 + "bc" * 8, [(0, 1, 9), (9, 2, 8)]),
    ],
)
def test_repeats(row, expected):
    assert repeats([ord(one) for one in row]) == expected


def test_a_thousand_nodes_stay_readable():
    x = torch.ones(2, requires_grad=True)
    y = x
    for step in range(1000):
        y = [torch.sin, torch.exp, torch.tanh][step * step % 7 % 3](y) * (step % 2 + 1.0 if step % 11 else 1)
    drawn = y.graph(fold=False, most=3000).svg(layout="own")
    assert len(boxes(drawn)) == y.graph().nodes + 2
    few = y.graph(fold=False, most=200)
    assert few.nodes > 1000 and len(few.boxes) <= 200 and "more than can be drawn" in few.caption[-1]
    assert len(boxes(few.svg(depth=9))) == len(few.boxes) > len(boxes(few.svg()))
    assert len(edges_in_dot(few.dot())) == len(few.edges)


@pytest.mark.once("its size is what is tried")
def test_a_graph_too_large_to_be_drawn_is_summed_up():
    class Link(Node):
        def __init__(self, following, name):
            self.next_edges, self.sequence_nr, self._name = [(following, 0)] * bool(following), length, name

        def name(self):
            return self._name

    node = None
    for length in range(100_000):
        node = Link(node, f"Link{length * length % 9973}")
    picture = torch.viz.graph(node)
    assert picture.nodes == 100_000 and len(boxes(picture.svg())) == 41
    assert "boxes 1 to 2500 of 100000" in picture.dot()


# Modules, lines, and the backward call --------------------------------------------------------------------------------


def test_the_outline_tells_of_edges_that_go_elsewhere_than_to_the_next_line():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    inner = y.sin().cos()
    assert str((inner + y).graph({"x": x})).splitlines()[2:] == [
        "tensor f32[2]",
        "AddBackward0 f32[2]  → CosBackward0 (+1), ExpBackward0 (+3)",
        "CosBackward0 f32[2]  saves f32[2], 8 B",
        "SinBackward0 f32[2]  saves f32[2], 8 B",
        "ExpBackward0 f32[2]  saves f32[2], 8 B",
        "x f32[2]",
    ]


def test_modules_are_boxes_around_their_nodes():
    net = Whole()
    with torch.viz.record():
        loss = net(torch.ones(1, 2)).sum()
    picture = loss.graph()
    outline = [line for line in str(picture).splitlines() if "weight" not in line and "bias" not in line]
    assert outline == [
        "graph of 12 nodes and 12 leaves", "saved for backward: 260 B", "tensor f32[]", "SumBackward0 f32[]", "Whole",
        "  layers: Sequential", f"    *: Sequential {TIMES} 5", "      1: Tanh",
        "        TanhBackward0 f32[1, 3]   saves f32[1, 3], 12 B", "      0: Linear",
        "        AddmmBackward0 f32[1, 3]  saves f32[1, 3] f32[3, 3], 48 B", "  first: Linear",
        "    AddmmBackward0 f32[1, 3]      saves f32[1, 2], 8 B",
    ]  # fmt: skip
    kinds = {box.label: [one.label for one in box.ways_out()] for box in picture.boxes.values() if box.kind == "module"}
    assert kinds["1: Tanh"] == ["1: Tanh", "*: Sequential", "layers: Sequential", "Whole", "all"]
    assert kinds["first: Linear"] == ["first: Linear", "Whole", "all"]
    assert net(torch.ones(1, 2)).sum().graph().boxes.keys() != picture.boxes.keys()  # it is not recorded any more
    flat = torch.viz.graph(loss, fold=False)
    leaves = {box.description.name: box.outer.label for box in flat.boxes.values() if box.kind == "leaf"}
    assert leaves["layers.2.0.weight"] == "0: Linear" and leaves["first.bias"] == "first: Linear"
    assert sum(edge.count for edge in flat.edges) == 1 + len(tape_of(loss))


def test_groups_close_and_open():
    with torch.viz.record():
        loss = Whole()(torch.ones(1, 2)).sum()
    picture = loss.graph()
    shut = boxes(picture.svg(depth=0))
    assert ["Whole", "23 nodes", "saves 260 B"] in shut.values()
    assert sorted(lines[0] for lines in shut.values()) == ["SumBackward0", "Whole", "tensor"]
    assert named_edges(picture.svg(depth=0)) == [("SumBackward0", "Whole"), ("tensor", "SumBackward0")]
    assert len(boxes(picture.svg(depth=9))) == len(picture.boxes)
    assert picture.dot().count("subgraph cluster_") == len([box for box in picture.boxes.values() if box.opens])


def test_groups_of_one_depth_open_together():
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(
                nn.Sequential(nn.Linear(2, 2), [nn.Tanh(), nn.ReLU()][i * i % 7 % 2]) for i in range(20)
            )

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    with torch.viz.record():
        picture = Deep()(torch.ones(1, 2)).sum().graph(fold=False)
    opened = [box.description.name for box in picture.opened()]
    assert opened == ["Deep", *(f"parts.{i}: Sequential" for i in reversed(range(20)))]
    assert len(picture.opened(9)) == 1 + 20 + 40


def test_what_is_recorded_of_nodes():
    x, w, _ = program()
    with torch.viz.record():
        loss = (x * w).sum()
        loss.backward(retain_graph=True)
    described = {box.description.name: box.description for box in loss.graph({"x": x, "w": w}).boxes.values()}
    order = {name: re.search(r"#(\d+), .*s, norm (.*)$", one.details[-1]) for name, one in described.items()}
    assert order.pop("tensor") is None
    numbers = {name: int(found[1]) for name, found in order.items()}
    assert numbers["SumBackward0"] == 1 and numbers["MulBackward0"] == 2 and {numbers["x"], numbers["w"]} == {3, 4}
    assert float(order["MulBackward0"][2]) == pytest.approx(3**0.5, rel=1e-2)
    assert float(order["w"][2]) == pytest.approx(21**0.5, rel=1e-2)
    assert any("loss = (x * w).sum()" in fact for fact in described["MulBackward0"].facts)
    assert loss.graph().caption[-1].startswith("backward: 4 nodes ran, ")


def test_what_is_pruned_is_faint():
    x, w, loss = program()

    def faint(picture):
        return sorted(box.description.name for box in picture.boxes.values() if box.faint)

    assert faint(loss.graph()) == []
    named = {"x": x, "w": w}
    assert faint(loss.graph(named, inputs=w)) == ["MulBackward0", "x"]
    assert faint(loss.graph(named, inputs=[x, w])) == []
    svg = loss.graph(named, inputs=w).svg()
    assert [boxes(svg)[key][0] for key in re.findall(r'class="box leaf wanted" data-box="(b\d+)"', svg)] == ["w"]
    assert svg.count('class="edge faint"') == 3
    with torch.viz.record():
        _, w, loss = program()
        torch.autograd.grad(loss, w, retain_graph=True)
    assert faint(loss.graph({"w": w})) == ["MulBackward0", "leaf"]


def test_recording_ends_and_leaves_nothing():
    with pytest.raises(ZeroDivisionError):
        with torch.viz.record():
            nn.Linear(2, 1)(torch.ones(2))
            raise ZeroDivisionError
    loss = (torch.ones(2, requires_grad=True) * 2).sum()
    loss.backward()
    assert loss.grad_fn._seen is None and loss.grad_fn._origin is None
    again = torch.viz.record()
    with again:
        with pytest.raises(RuntimeError, match="is entered already"):
            again.__enter__()
    with again:
        assert (torch.ones(2, requires_grad=True) * 2).grad_fn._seen is not None


def test_an_error_in_a_module_ends_its_call():
    class Failing(nn.Module):
        def forward(self, x):
            raise KeyError

    class Catching(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Failing()

        def forward(self, x):
            try:
                return self.inner(x)
            except KeyError:
                return x * 2

    with torch.viz.record():
        y = Catching()(torch.ones(2, requires_grad=True)) * 3
    outline = str(y.graph()).splitlines()
    names = [line.partition("  saves")[0].rstrip() for line in outline]
    assert names[3:6] == ["MulBackward0 f32[2]", "Catching", "  MulBackward0 f32[2]"]


# Files ----------------------------------------------------------------------------------------------------------------


def test_files(tmp_path):
    picture = program()[2].graph()
    for suffix in ("svg", "html", "dot", "gv", "png"):
        assert picture.save(tmp_path / f"tape.{suffix}").stat().st_size > 500
    assert (tmp_path / "tape.svg").read_text() == picture.svg()
    assert (tmp_path / "tape.dot").read_text() == picture.dot()
    assert (tmp_path / "tape.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "tape.html").read_text()
    assert page.startswith("<!doctype html>") and not re.search(r"(src|href)=|@import|url\(http", page)
    with pytest.raises(ValueError, match=r"what kind of file\?: expected .svg, .png, .html, .dot, .gv, got '.jpg'"):
        picture.save(tmp_path / "tape.jpg")


def test_png_without_what_draws_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match=r"a PNG wants resvg_py, .*pip install 'tapegrad\[viz\]'"):
        program()[2].graph().png()


def test_graphviz_lays_out_where_it_is(tmp_path, monkeypatch):
    """A program in the place of ``dot`` tells what it was asked."""
    monkeypatch.setenv("PATH", str(tmp_path))
    picture = program()[2].graph()
    with pytest.raises(ModuleNotFoundError, match="wants Graphviz; install its package"):
        picture.svg(layout="dot")
    asked = tmp_path / "dot"
    asked.write_text("#!/bin/sh\necho $*\n/bin/cat\n")
    asked.chmod(0o755)
    first, *rest = picture.svg(layout="dot").splitlines()
    assert first == "-Tsvg" and rest[0] == "digraph tape {" and len(rest) == len(picture.dot().splitlines())
    assert picture.svg().startswith("<svg")  # a small one is laid out here
    x = torch.ones(2, requires_grad=True)
    many = sum([[torch.sin, torch.exp][i * i % 7 % 2](x) for i in range(200)], x)
    assert many.graph(fold=False).svg().startswith("-Tsvg") and many.graph(fold=False).svg(layout="own")[:4] == "<svg"
    asked.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    with pytest.raises(RuntimeError, match="dot failed: no"):
        picture.png(layout="dot")
    assert many.graph(fold=False).svg().startswith("<svg")  # nobody asked for Graphviz
    asked.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    monkeypatch.setattr("tapegrad.viz.tape_graph.AWHILE", 0.1)
    assert many.graph(fold=False).svg().startswith("<svg")
    with pytest.raises(RuntimeError, match="dot took longer than 0.1 seconds"):
        laid_out("", "svg", patience=0.1)


def drawn_by_graphviz(picture):
    """What Graphviz has drawn, by kind: for each title the lines of text."""
    found = {"node": {}, "edge": {}, "cluster": {}}
    for group in ElementTree.fromstring(picture.svg(layout="dot")).iter(f"{SVG}g"):
        if group.get("class") in found:
            lines = [text.text for text in group.iter(f"{SVG}text")]
            found[group.get("class")][group.find(f"{SVG}title").text] = lines
    return found


@pytest.mark.once("another program draws it")
def test_graphviz_draws_all_that_is_there():
    """With Graphviz itself, where it is installed; where it isn't, it is refused, and what is here draws the rest."""
    with torch.viz.record():
        loss = torch.stack([Whole()(torch.ones(1, 2)).sum() for _ in range(30)]).prod()
    picture = loss.graph(fold=False)
    if not has_graphviz():
        with pytest.raises(ModuleNotFoundError, match="wants Graphviz; install its package"):
            picture.svg(layout="dot")
        assert picture.svg().startswith("<svg")
        return
    drawn = drawn_by_graphviz(picture)
    groups = {key: box for key, box in picture.boxes.items() if box.opens}
    assert drawn["node"] == {key: lines_of(box) for key, box in picture.boxes.items() if key not in groups}
    assert drawn["cluster"] == {f"cluster_{key}": [title_of(box)] for key, box in groups.items()}
    assert drawn["edge"].keys() == {f"{one.source.key}->{one.target.key}" for one in picture.edges}
    assert len(drawn["node"]) > 500 and picture.svg()[:4] == "<svg"
    assert picture.png(layout="dot").startswith(b"\x89PNG")


def test_numbers_that_are_kept_are_counted_each():
    """They are shown as tensors, which live as long as one looks at them: one may lie where another one lay."""
    y = torch.ones(2, requires_grad=True)
    for turn in range(20):
        y = (y * (1.5 + turn)).sin() / (2.25 + turn)
    assert str(y.sum().graph()).splitlines()[1] == f"saved for backward: {20 * (8 + 2 * 4 + 8)} B"


def test_in_notebooks():
    loss = program()[2]
    picture = loss.graph()
    assert picture._repr_svg_() == picture.svg()
    assert picture._repr_html_().startswith('<div id="tape-')
    assert repr(picture) == "<graph of 5 nodes and 2 leaves>"


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "settings", "error", "match"),
    [
        (lambda: torch.tensor(1.0), {}, ValueError, r"graph\(\): the tensor has no graph: it does not require grad"),
        (list, {}, ValueError, "the sequence is empty"),
        (lambda: 3.0, {}, TypeError, "expected a tensor, a node of a graph or a GradientEdge, got float"),
        (lambda: [loop(1)[1], "x"], {}, TypeError, "got str"),
        (lambda: loop(1)[1], {"names": [1]}, TypeError, "a mapping of names to tensors, got list"),
        (lambda: loop(1)[1], {"names": {"w": 1}}, TypeError, r"names\['w'\]: expected a tensor, got int"),
        (lambda: loop(1)[1], {"inputs": torch.ones(1)}, ValueError, "the tensor has no graph"),
        (lambda: loop(1)[1], {"most": 0}, ValueError, "most must be a number of boxes: expected 1 or more, got 0"),
    ],
)
def test_bad_input(given, settings, error, match):
    with pytest.raises(error, match=match):
        torch.viz.graph(given(), **settings)


def test_bad_settings_of_a_picture():
    picture = loop(1)[1].graph()
    with pytest.raises(ValueError, match="depth: expected None, 0 or more, got -1"):
        picture.svg(depth=-1)
    with pytest.raises(ValueError, match="no such layout: expected 'own' or 'dot', got 'neato'"):
        picture.svg(layout="neato")


def test_where_the_graph_was_lost():
    with torch.autograd.set_record_source_lines(True):
        lost = torch.ones(2, requires_grad=True).detach()
    with pytest.raises(ValueError, match=r"Where:\n.*\n.*lost = torch.ones"):
        lost.graph()


# Layout ---------------------------------------------------------------------------------------------------------------


def test_edges_lead_downwards_past_waypoints():
    layers = layered({"a": ["b", "d"], "b": ["c"], "c": ["d"], "d": []})
    assert [len(row) for row in layers.rows] == [1, 2, 2, 1]
    assert layers.paths["a", "d"] == ("a", ("a", "d", 1), ("a", "d", 2), "d")


def test_boxes_of_a_layer_do_not_overlap():
    fan = {"top": [f"x{i}" for i in range(7)], **{f"x{i}": [] for i in range(7)}}
    layers = layered(fan)
    centre = layers.centres(dict.fromkeys(fan, 50.0), gap=10.0)
    centres = [centre[item] for item in layers.rows[1]]
    assert all(right - left >= 60.0 - 1e-9 for left, right in pairwise(centres))


def test_long_chains_are_ranked_without_recursion():
    chain = {i: [i + 1] for i in range(50_000)} | {50_000: []}
    assert longest_paths(chain)[50_000] == 50_000
    assert len(without_cycles({**chain, 50_000: [0]})) == 50_001


def test_open_boxes_hold_what_is_inside():
    with torch.viz.record():
        loss = Whole()(torch.ones(1, 2)).sum()
    picture = loss.graph()
    placed = picture._skeleton.place(picture.opened(9))
    assert len(placed.boxes) == len(picture.boxes)
    for box, (x, y, width, height) in placed.boxes.items():
        around = placed.boxes.get(box.outer)
        if around is not None:
            assert around.x <= x and x + width <= around.x + around.width
            assert around.y < y and y + height <= around.y + around.height
        for other in (placed.boxes[one] for one in box.outer.inside if one is not box):
            beside = x + width <= other.x or other.x + other.width <= x
            assert beside or y + height <= other.y or other.y + other.height <= y
    for way in placed.edges.values():
        assert way is None or all(one[2] <= other[1] + 1e-6 for one, other in pairwise(way))
