"use strict";
{
  const root = document.documentElement;

  // Headings of tables become buttons that sort; a second click turns the order round.
  const value = (cell) => cell.dataset.key === undefined ? cell.textContent.trim() : Number(cell.dataset.key);
  const compare = (a, b) => typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });

  const sort = (table, heading, index) => {
    const numeric = heading.classList.contains("n");
    const before = heading.getAttribute("aria-sort");
    const up = before ? before === "descending" : !numeric;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => (up ? 1 : -1) * compare(value(a.cells[index]), value(b.cells[index])));
    table.tBodies[0].append(...rows);
  };

  for (const table of document.querySelectorAll("table.grid")) {
    if (table.tBodies[0].rows.length < 2) continue;
    Array.from(table.tHead.rows[0].cells).forEach((heading, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      if (heading.querySelector(".term")) button.setAttribute("aria-label", `Sort by ${heading.textContent.trim()}`);
      else button.append(...heading.childNodes); // the word itself sorts where it has no definition to open
      heading.append(button);
      button.addEventListener("click", () => sort(table, heading, index));
    });
  }

  // A word with a dotted line opens what it means, with a link to its place on the page Method.
  const meaning = document.createElement("div");
  meaning.className = "meaning-of-term";
  meaning.popover = "auto";
  const define = (term) => {
    const text = document.createElement("span");
    text.textContent = term.title;
    meaning.replaceChildren(text);
    if (term.href) {
      const link = document.createElement("a");
      link.href = term.href;
      link.textContent = "Method";
      meaning.append(" ", link);
    }
    term.after(meaning); // so that the link is what the Tab key reaches next
    meaning.showPopover();
    const { left, top, bottom } = term.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = meaning;
    meaning.style.left = `${scrollX + Math.max(8, Math.min(left, root.clientWidth - width - 8))}px`;
    meaning.style.top = `${scrollY + (bottom + height + 12 < innerHeight ? bottom + 6 : Math.max(8, top - height - 6))}px`;
  };
  document.addEventListener("click", (event) => {
    const term = event.target.closest(".term");
    if (!term || !meaning.showPopover || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    define(term);
  });

  const button = document.getElementById("theme");
  const dark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch {}
    label();
  });

  // On a phone the pages' names do not fit beside each other: the present one comes into sight.
  const bar = document.querySelector("header nav");
  const here = bar?.querySelector("[aria-current]");
  if (here) bar.scrollLeft = here.offsetLeft - bar.offsetLeft - (bar.clientWidth - here.offsetWidth) / 2;

  // Figures stand still until they are asked to answer to the pointer; only then the libraries are loaded.
  let libraries;
  const load = (assets) => libraries ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${assets}vega.js`;
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
  // A dataset comes as the names of its columns and its rows as lists.
  const specification = (text) => {
    const chart = JSON.parse(text);
    for (const [name, [columns, ...rows]] of Object.entries(chart.datasets)) {
      chart.datasets[name] = rows.map((row) => Object.fromEntries(row.map((value, at) => [columns[at], value])));
    }
    return chart;
  };
  const enliven = async (figure, data) => {
    if (figure.dataset.live) return;
    figure.dataset.live = "asked";
    const still = figure.querySelector(".picture");
    const drawing = still.firstElementChild;
    const place = document.createElement("div");
    place.hidden = true;
    still.append(place);
    try {
      await load(data.dataset.assets);
      const options = {
        mode: "vega-lite", ast: true, renderer: "svg", actions: false, config: window.chartConfig,
        tooltip: { theme: dark() ? "dark" : "light" },
      };
      await window.vegaEmbed(place, specification(data.textContent), options);
      place.querySelector("svg").style.minWidth = drawing.style.minWidth;
      place.setAttribute("aria-hidden", "true"); // the words about the picture are about this one, too
      place.hidden = false;
      drawing.remove();
      figure.dataset.live = "yes";
    } catch {
      place.remove();
      figure.dataset.live = "failed";
    }
  };
  for (const data of document.querySelectorAll("figure > script[type='application/json']")) {
    const figure = data.parentElement;
    const still = figure.querySelector(".picture");
    const switched = document.createElement("button");
    switched.type = "button";
    switched.textContent = "Values on hover";
    switched.title = "Replaces the figure by one that shows values under the pointer";
    figure.querySelector(".files").prepend(switched);
    switched.addEventListener("click", async () => { await enliven(figure, data); switched.remove(); still.focus(); });
    let wait;
    still.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "mouse") return;
      wait = setTimeout(async () => { await enliven(figure, data); switched.remove(); }, 400);
    });
    still.addEventListener("pointerleave", () => clearTimeout(wait));
  }

  // Everything is readable on paper, and folded again after printing.
  let printed = [];
  addEventListener("beforeprint", () => {
    printed = [...document.querySelectorAll("main details:not([open])")];
    for (const each of printed) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of printed) each.open = false; });

  // A link to a folded place unfolds it. Browsers do that by themselves since 2022 to 2025.
  const unfold = () => {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { /* an address by hand, such as #% */ }
    const target = document.getElementById(name);
    const closed = [];
    for (let at = target?.closest("details"); at; at = at.parentElement.closest("details")) if (!at.open) closed.push(at);
    for (const each of closed) each.open = true;
    if (closed.length) target.scrollIntoView();
  };
  if (document.querySelector("main details")) {
    addEventListener("hashchange", unfold);
    document.addEventListener("click", (event) => { if (event.target.closest("a[href^='#']")) setTimeout(unfold); });
    unfold();
  }
}
