"""What tensors, nodes, modules and reports show of themselves in notebooks."""

import base64
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import tapegrad as torch
from tapegrad import nn


def cells(page):
    """The rows of the tables of a page, which has to be well-formed."""
    rows = ElementTree.fromstring(f"<div>{page}</div>").iter("tr")
    return [[cell.text or "" for cell in row] for row in rows]


def facts(page):
    """The line above what is shown."""
    return ElementTree.fromstring(f"<div>{page}</div>").find("div").text


def named(rows, name):
    return next(row for row in rows if row[0] == name)


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (lambda: torch.tensor([1.5, -2.0]), "Tensor · float32[2] · cpu · min -2, max 1.5, 0 nan, 0 inf"),
        (lambda: torch.tensor([np.nan, np.inf, 2.0]), "Tensor · float32[3] · cpu · min 2, max 2, 1 nan, 1 inf"),
        (lambda: torch.tensor([3 + 4j]).conj(), "Tensor · complex64[1] · cpu · min 5, max 5, 0 nan, 0 inf"),
        (lambda: torch.tensor([1, 7]), "Tensor · int64[2] · cpu · min 1, max 7, 0 nan, 0 inf"),
        (lambda: torch.tensor(True), "Tensor · bool[] · cpu · min 1, max 1, 0 nan, 0 inf"),
        (lambda: torch.ones(2, dtype=torch.bfloat16), "Tensor · bfloat16[2] · cpu · min 1, max 1, 0 nan, 0 inf"),
        (lambda: torch.ones(0, 3), "Tensor · float32[0, 3] · cpu"),
        (lambda: torch.ones(2, 3, device="meta"), "Tensor · float32[2, 3] · meta"),
        (lambda: torch.ones(1).expand(5_000_000), "Tensor · float32[5000000] · cpu · 5,000,000 elements"),
        (
            lambda: nn.Parameter(torch.zeros(1)),
            "Parameter · float32[1] · cpu · min 0, max 0, 0 nan, 0 inf · a leaf that requires grad",
        ),
        (lambda: nn.LazyLinear(2).weight, "UninitializedParameter · float32 · cpu"),
    ],
)
def test_tensors(tensor, expected):
    tensor = tensor()
    page = tensor._repr_html_()
    assert facts(page) == expected
    assert ElementTree.fromstring(f"<div>{page}</div>").find("pre").text == repr(tensor)


def test_what_made_a_tensor():
    with torch.autograd.set_record_source_lines(True):
        y = torch.ones(2, requires_grad=True).exp()
    assert re.search(
        r"made by ExpBackward0 at .*: y = torch.ones\(2, requires_grad=True\).exp\(\)$", facts(y._repr_html_())
    )


def test_tensors_inside_a_transform():
    seen = []
    torch.vmap(lambda x: seen.append(x._repr_html_()) or x)(torch.ones(2, 3))
    assert facts(seen[0]).startswith("Tensor · float32[3] · cpu")


def test_nodes():
    w = nn.Parameter(torch.tensor([1.0, 2.0]))
    node = (w * w.exp()).grad_fn
    page = node._repr_html_()
    rows = cells(page)
    assert ["other", "f32[2]", "8 B"] in rows and ["self", "f32[2]", "8 B"] in rows
    assert ["0", "AccumulateGrad of leaf", "0"] in rows and ["1", "ExpBackward0", "0"] in rows
    assert "<b>MulBackward0</b>" in page and facts(page).startswith("takes f32[2] · made as number ")
    assert "<b>leaf</b>" in node.next_functions[0][0]._repr_html_()


def test_modules():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).requires_grad_(False).eval()
    net[0].weight.requires_grad_()
    page = net._repr_html_()
    rows = cells(page)
    assert facts(net[0].weight._repr_html_()).endswith(
        " · parameter 0.weight of Sequential · a leaf that requires grad"
    )
    assert named(rows, "0.weight") == ["0.weight", "f32[3, 2]", "24 B", "yes"]
    assert named(rows, "0.bias")[3] == "no" and named(rows, "1.running_mean")[3] == "a buffer"
    assert facts(page) == "torch.nn.modules.container.Sequential · 15 parameters, 60 B · evaluating"
    assert ["weight", "not known yet", "", "yes"] in cells(nn.LazyLinear(3)._repr_html_())
    assert "<table>" not in nn.Tanh()._repr_html_()


def test_long_tables_are_cut():
    net = nn.ModuleList(nn.Linear(1, 1, bias=False) for _ in range(75))
    assert len(cells(net._repr_html_())) == 61 and "and 15 more" in net._repr_html_()


def test_compiled_steps():
    @torch.compile
    def double(x):
        return x * 2

    assert "0 calls, 0 of them replayed" in double._repr_html_()
    for _ in range(4):
        double(torch.ones(2))
    page = double._repr_html_()
    assert "4 calls, 2 of them replayed" in page and ["kind 1", "replayed"] in cells(page)
    page = torch.compile(nn.Linear(1, 1))._repr_html_()
    assert "0 calls, 0 of them replayed" in page and named(cells(page), "_orig_mod.weight")


def test_reports():
    stats = torch.execution.stats()
    rows = cells(stats._repr_html_())
    assert named(rows, "hits") == ["hits", f"{stats.hits:,}"] and named(rows, "compile_seconds")[1].endswith(" s")
    assert named(cells(stats.tiers._repr_html_()), "host") == ["host", f"{stats.tiers.host:,}"]
    compared = torch.compare(lambda x: (x * x).sum(), torch.tensor([1.0, 2.0]))
    assert ["gradient: x", "float32[2]", "0.00e+00", "0.00e+00", "agrees"] in cells(compared._repr_html_())


def test_profiles():
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.profiler.profile() as seen:
        assert "unfinished" in seen._repr_html_()
        (x * 2 * 3).sum().backward()
    assert named(cells(seen._repr_html_()), "aten::mul")[1] == "2"
    assert cells(seen.key_averages()._repr_html_()) == cells(seen._repr_html_())
    with torch.profiler.profile() as steps:
        x * 2
    assert named(cells(steps._repr_html_()), "aten::mul")[1] == "1"


def test_anything_else():
    assert torch.viz.page_of("<b>") == "<pre>&#x27;&lt;b&gt;&#x27;</pre>"


# On request -----------------------------------------------------------------------------------------------------------


def test_histograms(tmp_path):
    picture = torch.viz.histogram(torch.tensor([0.0, 1.0, 1.0, 4.0, np.nan]), bins=4)
    assert picture.caption == "f32[5], 0 to 4, 1 not finite"
    drawn = ElementTree.fromstring(picture.content)
    assert [one.find("{*}title").text for one in drawn.iter("{http://www.w3.org/2000/svg}rect")] == ["1", "2", "0", "1"]
    heights = [float(one.get("height")) for one in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert heights == [60, 120, 0, 60]
    assert picture.save(tmp_path / "a.svg").read_text() == picture.content and picture.content in picture._repr_html_()
    assert "no finite element" in torch.viz.histogram(torch.tensor([np.inf])).caption
    assert "f32[0]" in torch.viz.histogram(torch.ones(0)).caption
    assert torch.viz.histogram(torch.tensor([True, False])).caption == "b8[2], 0 to 1"


def read_png(data):
    """The pixels of a file, by a reader that others wrote."""
    from matplotlib.image import imread

    (path, content) = data
    path.write_bytes(content)
    return np.round(imread(path) * 255).astype(int)


@pytest.mark.parametrize("shape", [(4, 5), (1, 4, 5), (3, 4, 5), (4, 5, 3)])
def test_images(shape, tmp_path):
    values = np.arange(np.prod(shape)).reshape(shape) * 1.0
    picture = torch.viz.image(torch.tensor(values))
    expected = np.round((values - values.min()) / values.max() * 255)
    expected = (
        np.moveaxis(expected, 0, -1) if shape[0] == 3 else expected.reshape(shape[-2:]) if shape[-1] == 5 else expected
    )
    read = read_png((tmp_path / "read.png", picture.content))
    assert np.array_equal(read[..., :3] if expected.ndim == 3 else read.reshape(4, 5, -1)[..., 0], expected)
    assert base64.b64encode(picture.content).decode() in picture._repr_html_()
    assert picture.save(tmp_path / "a.png").read_bytes() == picture.content


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: torch.viz.histogram([1.0]), TypeError, r"histogram\(\): expected a tensor, got list"),
        (lambda: torch.viz.histogram(torch.ones(2), bins=0), ValueError, "bins: expected 1 or more, got 0"),
        (lambda: torch.viz.histogram(torch.ones(2, device="meta")), ValueError, "no elements yet"),
        (lambda: torch.viz.image(torch.ones(2)), ValueError, r"the shape: expected .*, got \(2,\)"),
        (lambda: torch.viz.image(torch.ones(2, 0)), ValueError, "the shape"),
        (lambda: torch.viz.image(torch.ones(2, 2, 2)), ValueError, "the shape"),
        (lambda: torch.viz.image(torch.eye(2)).save("a.svg"), ValueError, "expected .png, got '.svg'"),
    ],
)
def test_bad_input(call, error, match):
    with pytest.raises(error, match=match):
        call()
