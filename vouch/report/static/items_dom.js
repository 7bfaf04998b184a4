"use strict";
// Elements. Whatever others wrote goes in as text, never as HTML.
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

// A text in whatever script and direction, which cannot turn what stands around it.
const said = (tag, text, name = "") => make(tag, { dir: "auto", class: `said ${name}`.trim(), text });

// The same with its formulas drawn.
const readable = (tag, text, name = "") => {
  const element = said(tag, "", name);
  element.append(...maths.nodes(text));
  return element;
};

// A thumbnail: its part of a sheet. It scales, prints and has a name, as a picture of its own would.
const picture = (dataset, tile, name) => {
  if (!tile) return make("span", { class: "nopicture", role: "img", "aria-label": `${name}, not shown here` });
  const SVG = "http://www.w3.org/2000/svg";
  const [sheet, wide, high, left, top, width, height] = tile;
  const svg = document.createElementNS(SVG, "svg");
  const image = document.createElementNS(SVG, "image");
  for (const [key, value] of Object.entries({
    viewBox: `${left} ${top} ${width} ${height}`, width, height, role: "img", "aria-label": name, class: "picture",
  })) svg.setAttribute(key, value);
  for (const [key, value] of Object.entries({ href: vouch.sheet(dataset, sheet), width: wide, height: high })) {
    image.setAttribute(key, value);
  }
  svg.append(image);
  return svg;
};

// Pictures that open larger, numbered where there are several. shown: [tile, name] of each.
const pictures = (dataset, shown) => make("div", { class: "pictures" }, ...shown.map(([tile, name], at) => {
  const small = picture(dataset, tile, name);
  const number = shown.length > 1 ? make("span", { class: "number", text: String(at + 1) }) : null;
  const zoom = () => {
    const large = make("dialog", { class: "larger", "aria-label": name, on: { close: () => large.remove(), click: () => large.close() } },
      picture(dataset, tile, name), make("button", { type: "button", text: "Close" }));
    document.body.append(large);
    large.showModal();
  };
  return tile ? make("button", { type: "button", class: "zoom", title: "Larger", on: { click: zoom } }, small, number) : make("span", { class: "zoom" }, small, number);
}));

const counted = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
