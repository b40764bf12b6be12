// Opens and closes the boxes of a tape's picture: what placing.py does, done again with other groups open.
// See Note [Open and closed] there.

const TAPE = { character: 7.3, line: 16, padding: 9, between: 34, narrow: 10, beside: 120, margin: 20, gap: 24, room: 20 };

// Horizontal centres of the items of a group: layered_layout.py has the same.
function tapeCentres(group, width) {
  const half = item => width(item) / 2, above = new Map(), below = new Map(), centre = new Map();
  const put = (map, key, one) => map.has(key) ? map.get(key).push(one) : map.set(key, [one]);
  for (const path of group.paths) {
    for (let i = 1; i < path.length; i++) { put(above, path[i], path[i - 1]); put(below, path[i - 1], path[i]); }
  }
  const pushed = (layer, wishes) => {
    const right = [...wishes], left = [...wishes];
    const space = i => half(layer[i - 1]) + half(layer[i]) + TAPE.gap;
    for (let i = 1; i < layer.length; i++) right[i] = Math.max(right[i], right[i - 1] + space(i));
    for (let i = layer.length - 1; i > 0; i--) left[i - 1] = Math.min(left[i - 1], left[i] - space(i));
    layer.forEach((item, i) => centre.set(item, (right[i] + left[i]) / 2));
  };
  for (const layer of group.rows) pushed(layer, layer.map(() => 0));
  for (let sweep = 0; sweep < 12; sweep++) {
    for (const layer of sweep % 2 ? [...group.rows].reverse() : group.rows) {
      pushed(layer, layer.map(item => {
        const near = [...(above.get(item) || []), ...(below.get(item) || [])].map(other => centre.get(other));
        return near.length ? near.reduce((a, b) => a + b) / near.length : centre.get(item);
      }));
    }
  }
  const start = Math.min(...[...centre].map(([item, x]) => x - half(item)));
  for (const [item, x] of centre) centre.set(item, x - start);
  return centre;
}

// Sizes, and places inside a group, when the groups in it are placed already.
function tapeGroup(data, key, sizes) {
  const group = data.groups[key], framed = key !== "" ? 1 : 0, rim = TAPE.padding * framed;
  const size = item => sizes.get(item) || (data.boxes[item] ? [data.boxes[item].width, data.boxes[item].height] : [0, 0]);
  const centre = tapeCentres(group, item => size(item)[0]), items = new Map();
  let y = (TAPE.line + 2 * TAPE.padding) * framed, right = 0, last = 0;
  group.rows.forEach((row, number) => {
    const height = Math.max(...row.map(item => size(item)[1]));
    if (number) y += height && last ? TAPE.between : TAPE.narrow;
    for (const item of row) {
      const [width, own] = size(item);
      items.set(item, { x: rim + centre.get(item) - width / 2, y, width, height: own, end: y + height });
      right = Math.max(right, rim + centre.get(item) + width / 2);
    }
    y += height;
    last = height;
  });
  const title = framed ? data.boxes[key].title * TAPE.character + 2 * TAPE.padding : 0;
  sizes.set(key, [Math.max(right + rim, title), y + rim]);
  return items;
}

// Where everything stands: rectangles of the visible boxes, and the verticals of the visible edges.
function placeTape(data, open) {
  const order = [""], inside = new Map(), sizes = new Map(), boxes = new Map(), rows = new Map();
  for (const key of order) {
    for (const [one, box] of Object.entries(data.boxes)) {
      if ((box.outer || "") === key && open.has(one) && data.groups[one]) order.push(one);
    }
  }
  for (const key of [...order].reverse()) inside.set(key, tapeGroup(data, key, sizes));
  const place = (key, left, top) => {
    for (const [item, at] of inside.get(key)) {
      const x = left + at.x, y = top + at.y;
      rows.set(key + " " + item, [x + at.width / 2, y, top + at.end]);
      if (data.boxes[item]) {
        boxes.set(item, { x, y, width: at.width, height: at.height });
        if (inside.has(item)) place(item, x, y);
      }
    }
  };
  place("", 0, 0);
  const visible = key => { while (!boxes.has(key)) key = data.boxes[key].outer; return key; };
  const seen = new Set(), edges = new Map();
  data.edges.forEach((edge, number) => {
    const from = visible(edge.from), to = visible(edge.to), ends = [from, to, edge.carried].join(" ");
    if (seen.has(ends) || (from === to && !(edge.carried && from === edge.from))) return;
    seen.add(ends);
    const source = boxes.get(from), target = boxes.get(to);
    if (!edge.ways) { edges.set(number, { from, to, source, target }); return; }
    const bottom = source.y + source.height, way = [[source.x + source.width / 2, bottom, bottom]];
    for (const [group, items] of edge.ways) {
      if (!rows.has(group + " " + items[0])) continue;
      for (const item of items) {
        if (data.boxes[item]) continue;
        let [x, upper, lower] = rows.get(group + " " + item);
        const around = boxes.get(group);
        if (around && /^in [^>]*$/.test(item)) upper = around.y;
        if (around && /^out [^>]*$/.test(item)) lower = around.y + around.height;
        way.push([x, upper, lower]);
      }
    }
    way.push([target.x + target.width / 2, target.y, target.y]);
    edges.set(number, { from, to, way });
  });
  const [width, height] = sizes.get(""), back = [...edges.values()].some(edge => !edge.way);
  return { boxes, edges, size: [width + (back ? TAPE.beside : 0), height] };
}

// The line of an edge, and where its text stands: path_of_edge in svg.py.
function tapeLine({ way, source, target }) {
  const f = x => x.toFixed(1);
  if (!way) {
    const x = source.x + source.width, y = source.y + source.height * 0.75;
    const toX = target.x + target.width, toY = target.y + target.height * 0.25, out = Math.max(x, toX) + 24;
    return [`M${f(x)},${f(y)} C${f(out)},${f(y)} ${f(out)},${f(toY)} ${f(toX)},${f(toY)}`, out, (y + toY) / 2 + 3];
  }
  let line = `M${f(way[0][0])},${f(way[0][2])}`;
  for (let i = 1; i < way.length; i++) {
    const [x, , y] = way[i - 1], [toX, toY, end] = way[i], middle = (y + toY) / 2;
    line += ` C${f(x)},${f(middle)} ${f(toX)},${f(middle)} ${f(toX)},${f(toY)}`;
    if (end !== toY) line += ` L${f(toX)},${f(end)}`;
  }
  const stretches = way.slice(1).map(([toX, toY], i) => [toY - way[i][2], (way[i][0] + toX) / 2, (way[i][2] + toY) / 2 + 3]);
  const longest = stretches.reduce((a, b) => b[0] > a[0] ? b : a);
  const [, x, y] = [...stretches].reverse().find(one => one[0] >= TAPE.room) || longest;
  return [line, x, y];
}

function showTape(root) {
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const open = new Set(data.open), svg = root.querySelector("svg"), facts = root.querySelector(".facts");
  const all = kind => [...root.querySelectorAll(`[data-${kind}]`)];
  const show = (element, yes) => yes ? element.removeAttribute("display") : element.setAttribute("display", "none");
  const draw = () => {
    const placed = placeTape(data, open), [width, height] = placed.size.map(x => Math.round(x + 2 * TAPE.margin));
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.classList.toggle("many", placed.edges.size > 40);
    for (const g of all("box")) {
      const key = g.dataset.box, at = placed.boxes.get(key);
      show(g, at);
      if (!at) continue;
      g.setAttribute("transform", `translate(${at.x.toFixed(1)},${at.y.toFixed(1)})`);
      if (!data.groups[key]) continue;
      const frame = g.querySelector(".open"), isOpen = open.has(key);
      show(frame, isOpen);
      show(g.querySelector(".closed"), !isOpen);
      frame.querySelector("rect").setAttribute("width", at.width);
      frame.querySelector("rect").setAttribute("height", at.height);
    }
    for (const g of all("edge")) {
      const edge = placed.edges.get(Number(g.dataset.edge));
      show(g, edge);
      if (!edge) continue;
      [g.dataset.from, g.dataset.to] = [edge.from, edge.to];
      const [line, x, y] = tapeLine(edge), text = g.querySelector("text");
      g.querySelector("path").setAttribute("d", line);
      text.setAttribute("x", x + 3);
      text.setAttribute("y", y);
    }
  };
  for (const g of all("box")) {
    const key = g.dataset.box;
    g.onmouseenter = () => {
      facts.textContent = g.querySelector("title").textContent;
      for (const edge of all("edge")) edge.classList.toggle("near", [edge.dataset.from, edge.dataset.to].includes(key));
    };
    if (!data.groups[key]) continue;
    g.style.cursor = "pointer";
    g.onclick = () => { open.has(key) ? open.delete(key) : open.add(key); draw(); };
  }
  for (const button of all("all")) {
    button.onclick = () => {
      for (const key of Object.keys(data.groups)) button.dataset.all === "open" && key ? open.add(key) : open.delete(key);
      draw();
    };
  }
  for (const controls of root.querySelectorAll(".controls")) controls.style.display = "block";
}
