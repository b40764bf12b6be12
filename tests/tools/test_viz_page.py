"""The script of a picture's page, run by node: it places boxes as Python does, and opens and closes them."""

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from html import unescape
from shutil import which

import pytest

import tapegrad as torch
from docs.pages import ROOT
from tapegrad import nn
from tapegrad.viz.svg import SCRIPT, data_of, path_of_edge
from tapegrad.viz.tape_graph import page_around

pytestmark = pytest.mark.once("draws what was recorded")

PLACES = """
for (const open of given.states) {
  const { boxes, edges, size } = placeTape(given.data, new Set(open));
  found.push({ boxes: Object.fromEntries(boxes), edges: [...edges].map(([i, edge]) => [i, ...tapeLine(edge)]), size });
}
"""

ELEMENTS = """
class Element {
  constructor({ tag, attributes, children, text }, parent) {
    Object.assign(this, { tag, attributes, parent, textContent: text, style: {}, dataset: {} });
    this.children = children.map(one => new Element(one, this));
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("data-")) this.dataset[name.slice(5)] = value;
    }
    const names = new Set((attributes.class || "").split(" "));
    this.classList = { contains: one => names.has(one), toggle: (one, on) => on ? names.add(one) : names.delete(one) };
  }
  hasAttribute(name) { return name in this.attributes; }
  getAttribute(name) { return this.attributes[name]; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  matches(selector) {
    if (selector[0] === ".") return this.classList.contains(selector.slice(1));
    const [, tag, name, , value] = /^(\\w*)(?:\\[([\\w-]+)(='(.*)')?\\])?$/.exec(selector);
    if (tag && tag !== this.tag) return false;
    return !name || (name in this.attributes && (value === undefined || this.attributes[name] === value));
  }
  querySelectorAll(selector) {
    return this.children.flatMap(one => [...(one.matches(selector) ? [one] : []), ...one.querySelectorAll(selector)]);
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0]; }
}
const root = new Element(given.page, null);
showTape(root);
"""

CLICKS = """
const box = key => root.querySelector(`[data-box='${key}']`);
for (const key of [null, ...given.clicks]) {
  if (key) { box(key).onmouseenter(); box(key).onclick(); }
  const shown = kind => [...root.querySelectorAll(`[data-${kind}]`)].filter(one => !one.hasAttribute("display"));
  found.push({
    boxes: Object.fromEntries(shown("box").map(one => [one.dataset.box, one.getAttribute("transform")])),
    edges: shown("edge").map(one => [Number(one.dataset.edge), one.querySelector("path").getAttribute("d")]),
    near: root.querySelectorAll(".near").length, facts: root.querySelector(".facts").textContent,
    open: shown("box").map(one => [one, one.querySelector(".open")])
      .filter(([, frame]) => frame && !frame.hasAttribute("display")).map(([one]) => one.dataset.box),
  });
}
"""


def run(script, given):
    """What a script has found, run behind that of the page."""
    code = f"{SCRIPT.read_text()}\nconst given = JSON.parse(require('fs').readFileSync(0, 'utf8')), found = [];"
    command = ["node", "-e", f"{code}\n{script}\nconsole.log(JSON.stringify(found));"]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def picture():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(4))
            self.last = nn.Linear(2, 1)

        def forward(self, x):
            for part in self.parts:
                x = x + part(x) * x
            return self.last(x)

    with torch.viz.record():
        return Branching()(torch.ones(1, 2)).sum().graph()


def states(picture):
    """Several choices of groups that are open."""
    groups = [box for box in picture.boxes.values() if box.opens]
    return [[], groups, *[[one for one in groups if one is not shut] for shut in groups], groups[:1], groups[::2]]


def expected(picture, opened):
    placed = picture._skeleton.place(opened)
    number = {edge: place for place, edge in enumerate(picture._skeleton.edges)}
    return {
        "boxes": {box.key: place._asdict() for box, place in placed.boxes.items()},
        "edges": {number[edge]: path_of_edge(edge, placed) for edge in placed.edges},
        "size": list(placed.size),
    }


def numbers(path):
    return [float(one) for one in re.findall(r"-?[\d.]+", path)]


def test_the_script_places_boxes_as_python_does(picture):
    chosen = states(picture)
    keys = [[box.key for box in state] for state in chosen]
    found = run(PLACES, {"data": data_of(picture._skeleton, []), "states": keys})
    assert len(found) == len(chosen) > 6
    for state, one in zip(chosen, found, strict=True):
        wanted = expected(picture, state)
        assert one["boxes"].keys() == wanted["boxes"].keys()
        for key, place in one["boxes"].items():
            assert place == pytest.approx(wanted["boxes"][key])
        assert [number for number, *_ in one["edges"]] == list(wanted["edges"])
        for number, line, *text in one["edges"]:
            assert numbers(line) == pytest.approx(numbers(wanted["edges"][number][0]), abs=0.11)
            assert text == pytest.approx(wanted["edges"][number][1])
        assert one["size"] == pytest.approx(wanted["size"])


def parsed(page):
    """A page without its script, which is no XML."""
    return ElementTree.fromstring(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))


def as_tree(element):
    """An element for the script: names without namespaces."""
    tag = element.tag.rpartition("}")[2]
    children = [as_tree(child) for child in element]
    return {"tag": tag, "attributes": dict(element.attrib), "children": children, "text": unescape(element.text or "")}


def in_node(picture, clicks):
    """What clicks do, seen by node."""
    return run(ELEMENTS + CLICKS, {"page": as_tree(parsed(picture.html())), "clicks": clicks})


def in_chromium(picture, clicks, folder):
    """What clicks do, seen by a browser."""
    script = f"""
    const root = document.querySelector("[id^=tape-]"), given = {{ clicks: {json.dumps(clicks)} }}, found = [];
    {CLICKS}
    document.body.textContent = JSON.stringify(found);
    """
    (folder / "page.html").write_text(f"{page_around(picture.html())}<script>{script}</script>")
    settings = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    command = ["chromium", *settings, (folder / "page.html").as_uri()]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    return json.loads(unescape(re.search(r"<body>(.*?)</body>", seen, re.DOTALL)[1]))


def test_clicks_close_boxes_and_open_them_again(picture, tmp_path):
    """In node, and in a browser where there is one."""
    opened = picture.opened()
    shut = [box for box in opened if box.inside[0].is_group][-1]
    clicks = [shut.key, shut.key]
    found = in_node(picture, clicks)
    if which("chromium"):
        assert in_chromium(picture, clicks, tmp_path) == found
    first, closed, again = found
    assert first["boxes"] == again["boxes"] and sorted(first["open"]) == sorted(box.key for box in opened)
    without = expected(picture, [box for box in opened if box is not shut])
    assert closed["boxes"].keys() == without["boxes"].keys() and len(closed["boxes"]) < len(first["boxes"])
    for key, place in without["boxes"].items():
        assert numbers(closed["boxes"][key]) == pytest.approx([place["x"], place["y"]], abs=0.11)
    assert {number for number, _ in closed["edges"]} == set(without["edges"])
    assert shut.key not in closed["open"] and closed["facts"].startswith(shut.label) and first["facts"] == ""


BUTTONS = """
for (const name of ["close", "open"]) {
  root.querySelector(`[data-all='${name}']`).onclick();
  const shown = root.querySelectorAll("[data-box]").filter(one => !one.hasAttribute("display"));
  found.push(shown.map(one => one.dataset.box));
}
found.push(root.querySelector(".controls").style.display);
"""


def test_all_groups_can_be_closed_and_opened(picture):
    closed, opened, shown = run(ELEMENTS + BUTTONS, {"page": as_tree(parsed(picture.html()))})
    assert [picture.boxes[key].description.name for key in closed] == ["tensor", "SumBackward0", "Branching"]
    assert opened == list(picture.boxes) and shown == "block"


def test_where_nothing_opens_there_is_nothing_to_click():
    page = (torch.ones(1, requires_grad=True) * 2).graph().html()
    assert "<button" not in page and "querySelectorAll" in page


@pytest.mark.parametrize("name", ["page_open.png", "page_closed.png"])
def test_the_reference_shows_the_page(name):
    """As a browser has drawn it."""
    drawn = (ROOT / "docs" / name).read_bytes()
    assert drawn.startswith(b"\x89PNG") and len(drawn) < 150_000
    assert f"]({name})" in (ROOT / "docs" / "see.md").read_text()


def test_the_page_is_there_before_the_script_runs(picture):
    """Without it the picture is that of ``svg``."""
    page = parsed(picture.html())
    groups = [one for one in page.iter("{http://www.w3.org/2000/svg}g") if one.get("data-box")]
    shown = {one.get("data-box"): one.get("transform") for one in groups if one.get("display") is None}
    placed = picture._skeleton.place(picture.opened()).boxes
    assert shown == {box.key: f"translate({place.x:.1f},{place.y:.1f})" for box, place in placed.items()}
    assert {one.get("data-box") for one in groups} == picture.boxes.keys()
