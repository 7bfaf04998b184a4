"use strict";
{
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
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, heading, index));
    });
  }

  const root = document.documentElement;
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

  // Everything is readable on paper.
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.part")) part.open = true;
  });
}
