// What is wrong with how a page looks in the present window and theme, in words. Everything is unfolded first.
() => {
  for (const each of document.querySelectorAll("main details")) each.open = true;
  const width = document.documentElement.clientWidth;
  const problems = new Set();
  const named = (e) => `${e.tagName.toLowerCase()}.${e.className.baseVal ?? e.className} "${e.textContent.trim().slice(0, 30)}"`;

  const rgba = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [...numbers.slice(0, 3).map((one) => scale * one), numbers[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[3] * top[at] + (1 - top[3]) * below[at]).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const grounds = new Map();
  const ground = (e) => {
    if (!e) return [255, 255, 255, 1];
    if (!grounds.has(e)) grounds.set(e, over(rgba(getComputedStyle(e).backgroundColor), ground(e.parentElement)));
    return grounds.get(e);
  };
  const scrolls = (e) => {
    for (let at = e.parentElement; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible") return true;
    }
    return false;
  };

  if (document.documentElement.scrollWidth > width) problems.add("the page scrolls sideways");
  for (const e of document.body.querySelectorAll("*:not(svg *)")) {
    if (e.closest(".skip, .hidden, [hidden]") || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if ((box.right > width + 1 || box.left < -1) && !scrolls(e)) problems.add(`leaves the window: ${named(e)}`);
    if (e.disabled || ![...e.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())) continue;
    const below = ground(e);
    const ratio = contrast(over(rgba(getComputedStyle(e).color), below), below);
    if (ratio < 4.5) problems.add(`contrast ${ratio.toFixed(1)}: ${named(e)}`);
  }

  for (const svg of document.querySelectorAll("figure svg")) {
    if (!svg.checkVisibility()) continue;
    const figure = `${svg.closest("figure").className}${svg.closest(".narrow") ? ", narrow" : ""}`;
    const { left } = svg.closest(".scroll").getBoundingClientRect();
    const { a: scale } = svg.getScreenCTM();
    const tiles = [...svg.querySelectorAll("[fill]:is(rect, path)")].map((one) => [one, one.getBoundingClientRect()]);
    for (const text of svg.querySelectorAll("text")) {
      const style = getComputedStyle(text);
      if (style.stroke !== "none") continue; // the halo of another text
      const box = text.getBoundingClientRect();
      if (scale * parseFloat(style.fontSize) < 9) problems.add(`small letters: ${figure}`);
      if (box.left < left - 1) problems.add(`cut at the left: ${figure} ${named(text)}`);
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const under = tiles.filter(([, tile]) => tile.left <= box.left && box.right <= tile.right && tile.top <= y && y <= tile.bottom && x);
      const paint = (below, [tile]) => {
        const of = getComputedStyle(tile);
        const colour = rgba(of.fill);
        return over([...colour.slice(0, 3), colour[3] * of.fillOpacity], below);
      };
      const below = under.reduce(paint, ground(svg.parentElement));
      const ratio = contrast(over(rgba(style.fill), below), below);
      if (ratio < 4.5) problems.add(`contrast ${ratio.toFixed(1)}: ${figure} ${named(text)}`);
    }
  }

  // Each kind of a colour, shape or line is named in words beside the drawing: in its legend, or at its axis.
  for (const script of document.querySelectorAll("figure > script[type='application/json']")) {
    const chart = JSON.parse(script.textContent);
    const words = new Set([...script.parentElement.querySelectorAll("svg text")].map((text) => text.textContent.split("…")[0]));
    const said = (kind) => words.has(kind) || [...words].some((word) => word && String(kind).startsWith(word)) || [...words].join("").includes(kind);
    JSON.stringify(chart, (key, value) => {
      if (["color", "shape", "strokeDash"].includes(key) && Array.isArray(value?.scale?.domain) && typeof value.scale.domain[0] === "string") {
        for (const kind of value.scale.domain) {
          if (!said(kind)) problems.add(`no legend for ${kind}: ${script.parentElement.className}`);
        }
      }
      return value;
    });
  }
  return [...problems];
}
