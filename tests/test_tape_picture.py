"""The picture of a tape, and the layout under it."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

import tapegrad as torch
from tapegrad.utils.layered_layout import arrange, longest_paths
from tapegrad.utils.tape_picture import tape_picture

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg):
    """The lines of text in each box."""
    return [[text.text for text in group.iter(f"{SVG}text")] for group in ElementTree.fromstring(svg).iter(f"{SVG}g")]


def program():
    x = torch.tensor([[1.0, 2.0, 4.0]], requires_grad=True)
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    return x, w, ((x * w).exp() + x * 3).sum()


def test_every_node_leaf_and_saved_shape_is_there():
    x, w, loss = program()
    drawn = boxes(tape_picture(loss, {"x": x, "w": w}, title="loss"))
    assert sorted(lines[0] for lines in drawn) == sorted(
        ["loss", "SumBackward0", "AddBackward0", "ExpBackward0", "MulBackward0", "MulBackward0", "x", "w"]
    )
    assert ["loss", "()"] in drawn
    assert ["x", "(1, 3)"] in drawn
    assert ["w", "(3,)"] in drawn
    assert ["ExpBackward0", "(1, 3)", "saves (1, 3)"] in drawn
    assert ["AddBackward0", "(1, 3)"] in drawn


def test_one_arrow_for_each_pair_of_nodes_thicker_for_several_edges():
    x = torch.tensor(2.0, requires_grad=True)
    svg = tape_picture(x * x)
    assert svg.count("<path ") == 2
    assert len(re.findall(r'style="stroke-width: 2\.4"', svg)) == 1


def test_leaves_without_a_name_and_names_that_need_escaping():
    x, _, loss = program()
    drawn = boxes(tape_picture(loss, {"a<b & c": x}))
    assert ["a<b & c", "(1, 3)"] in drawn
    assert ["leaf", "(3,)"] in drawn


def test_drawing_changes_nothing_and_freed_tensors_are_not_drawn():
    x, _, loss = program()
    assert tape_picture(loss) == tape_picture(loss)
    loss.backward()
    assert x.grad is not None
    assert "saves" not in tape_picture(loss)


def test_a_tensor_without_a_tape_is_refused():
    with pytest.raises(ValueError, match="no grad_fn"):
        tape_picture(torch.tensor(1.0))


def test_edges_lead_downwards_past_waypoints():
    layout = arrange({"a": ["b", "d"], "b": ["c"], "c": ["d"], "d": []}, dict.fromkeys("abcd", 10.0))
    assert [len(layer) for layer in layout.layers] == [1, 2, 2, 1]
    assert layout.paths["a", "d"] == ("a", ("a", "d", 1), ("a", "d", 2), "d")


def test_boxes_of_a_layer_do_not_overlap():
    fan = {"top": [f"x{i}" for i in range(7)], **{f"x{i}": [] for i in range(7)}}
    layout = arrange(fan, dict.fromkeys(fan, 50.0), gap=10.0)
    centres = [layout.centre[item] for item in layout.layers[1]]
    assert all(right - left >= 60.0 - 1e-9 for left, right in pairwise(centres))


def test_long_chains_are_ranked_without_recursion():
    chain = {i: [i + 1] for i in range(50_000)} | {50_000: []}
    assert longest_paths(chain)[50_000] == 50_000
