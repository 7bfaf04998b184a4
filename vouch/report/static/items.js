"use strict";
{
  const PAGE = 50; // items of a list
  const find = (id) => document.getElementById(id);
  const [form, status, list, pager, panel, note] = ["filters", "status", "list", "pager", "item", "note"].map(find);
  const leads = JSON.parse(form.getAttribute("data-leads")); // the model that the verdict names, by dataset
  const datasets = Object.keys(leads);
  const blind = JSON.parse(form.getAttribute("data-blind")); // the models asked without images, by dataset
  const meanings = JSON.parse(form.getAttribute("data-meanings"));
  const BLANK = { q: "", category: "", flag: "", model: "", answer: "", variation: "", flipped: "", sort: "",
    sure_low: "", sure_high: "", size_low: "", size_high: "" };
  let asked = { ...BLANK, dataset: datasets[0] ?? "", item: "", from: 0 };
  let found = [], listed = null, turn = 0, pause = 0, opened = -1, described = "";

  // The address holds all that was asked: #DATASET/ITEM?q=...
  const read = () => {
    const [path, rest = ""] = location.hash.slice(1).split("?");
    const [dataset, id = ""] = path.split("/").map((part) => { try { return decodeURIComponent(part); } catch { return ""; } });
    if (path && !datasets.includes(dataset)) {
      // Without an item or a filter it is an anchor of the page.
      if (/[/?]/.test(location.hash)) note.textContent = `There is no dataset ${dataset} here.`;
      return asked;
    }
    const given = new URLSearchParams(rest);
    const next = { dataset: dataset || datasets[0], item: id, from: Math.max(0, Math.floor(Number(given.get("from")) || 0)) };
    for (const name of Object.keys(BLANK)) next[name] = given.get(name) ?? "";
    // "The model is wrong" is said of the one that the verdict names, unless another was chosen.
    if (query.needsModel(next)) next.model ||= leads[next.dataset] ?? "";
    return next;
  };
  const address = (change = {}) => {
    const all = { ...asked, ...change }, rest = new URLSearchParams();
    for (const name of [...Object.keys(BLANK), "from"]) if (all[name]) rest.set(name, all[name]);
    const path = [all.dataset, all.item].filter(Boolean).map(encodeURIComponent).join("/");
    return `#${path}${rest.size ? `?${rest}` : ""}`;
  };
  // What the address names and this dataset lacks, as after a model was taken out: it would filter by another one.
  const unknown = async ({ dataset, ...named }) => {
    const index = await vouch.index(dataset);
    const columns = named.category || named.flag ? await vouch.columns(dataset) : null;
    const offered = (name) => Array.from(form.elements[name].options, (option) => option.value);
    const known = { model: () => index.models, variation: () => index.variations, flipped: () => ["any", ...index.variations],
      category: () => columns.categories, flag: () => columns.flags, answer: () => offered("answer"), sort: () => offered("sort") };
    const isWrong = (name) => (name in known ? !known[name]().includes(named[name]) : name !== "q" && Number.isNaN(Number(named[name])));
    return Object.keys(BLANK).filter((name) => named[name] !== "" && isWrong(name));
  };
  const go = (change, replace) => {
    history[replace ? "replaceState" : "pushState"](null, "", address(change));
    return show();
  };
  const same = (a, b) => a.dataset === b.dataset && Object.keys(BLANK).every((name) => a[name] === b[name]);

  const choices = (id, first, values) => {
    const select = find(id);
    select.replaceChildren(...[["", first], ...values].map(([value, text]) => make("option", { value, text })));
  };
  const describe = async (dataset) => {
    if (described === dataset) return;
    const index = await vouch.index(dataset);
    if (asked.dataset !== dataset) return;
    described = dataset;
    const named = (values) => values.map((name) => [name, name]);
    choices("model", "every model", named(index.models));
    const changes = index.variations.filter((name) => name !== "original")
      .map((name) => [name, meanings[name] ? `${meanings[name]} (${name})` : name]);
    choices("variation", "original prompt", changes);
    choices("flipped", "–", [["any", "any change"], ...changes]);
    vouch.columns(dataset).then((columns) => {
      if (described !== dataset) return;
      choices("category", "all", named(columns.categories.filter(Boolean)));
      choices("flag", "–", named(columns.flags));
      fill();
    });
  };
  const fill = () => {
    for (const [id, word] of [["right", "correct"], ["wrong", "wrong"]])
      find(`answer-${id}`).textContent = `${asked.model || "the model"} is ${word}`;
    for (const field of form.elements) {
      if (field.name && field.name in asked && document.activeElement !== field) field.value = asked[field.name];
    }
  };

  const short = (at, index, columns, model) => {
    const parts = [];
    if (columns) {
      if (columns.answered[at]) parts.push(`${columns.correct[at]} of ${counted(columns.answered[at], "model")} correct`);
      const category = columns.categories[columns.category[at]];
      if (category) parts.unshift(category);
    }
    if (model?.states) {
      const state = model.states[index.variations.indexOf("original")]?.[at] ?? "-";
      const words = [query.RIGHT.includes(state) ? "correct" : query.WRONG.includes(state) ? "wrong" : "not graded"];
      if (model.confidence[at] >= 0) words.push(`${Math.round(model.confidence[at] / 10)} % confident`);
      if (model.size[at] >= 0) words.push(`set of ${(model.size[at] / 100).toFixed(1)}`);
      const flips = query.flips(model, at);
      if (flips) words.push(`flipped by ${flips}`);
      parts.push(`${model.model}: ${words.join(", ")}`);
    }
    return parts.join(" · ");
  };

  const draw = async (mine) => {
    const { dataset } = asked, index = await vouch.index(dataset);
    const from = Math.min(asked.from, Math.max(0, Math.floor((found.length - 1) / PAGE) * PAGE));
    const numbers = found.slice(from, from + PAGE);
    const rows = await Promise.all(numbers.map((at) => vouch.row(dataset, at)));
    const model = index.models.length && (asked.model || query.needsModel(asked))
      ? await vouch.model(dataset, Math.max(0, index.models.indexOf(asked.model))) : null;
    const lines = (columns) => {
      if (mine !== turn) return;
      list.replaceChildren(...rows.map(([id, question, , , , tile], place) => make("li", {},
        make("a", { href: address({ item: id }), "aria-current": asked.item === id ? "true" : null, "data-at": numbers[place] },
          index.images ? picture(dataset, tile, `Image of ${id}`) : null,
          make("span", { class: "row" }, readable("span", question, "question"),
            make("span", { class: "about" }, said("span", id), ` · ${short(numbers[place], index, columns, model)}`.replace(/ · $/, "")))))));
    };
    if (mine !== turn) return; // something else was asked meanwhile
    lines(null);
    const to = from + numbers.length;
    status.textContent = found.length === index.items ? counted(index.items, "item")
      : `${found.length.toLocaleString("en")} of ${counted(index.items, "item")}`;
    if (!found.length) {
      status.replaceChildren("No item matches. ", make("button", { type: "button", text: "Clear", on: { click: () => form.reset() } }));
    }
    const link = (text, start, on) => make(on ? "a" : "span", { href: on ? address({ from: start, item: "" }) : null, text });
    pager.hidden = found.length <= PAGE;
    pager.replaceChildren(link("‹ earlier", Math.max(0, from - PAGE), from > 0),
      make("span", { text: `${(from + 1).toLocaleString("en")}–${to.toLocaleString("en")}` }),
      link("later ›", to, to < found.length));
    lines(await vouch.columns(dataset));
  };

  const open = async (mine) => {
    const { dataset, item: id } = asked;
    document.body.classList.toggle("opened", Boolean(id));
    panel.hidden = !id;
    for (const link of list.querySelectorAll("a")) {
      if (link.getAttribute("href") === address()) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (!id) { opened = -1; return; }
    const at = await vouch.find(dataset, id);
    if (mine !== turn) return;
    opened = at;
    if (at < 0) {
      panel.replaceChildren(make("p", {}, "There is no item ", said("b", id), ` in ${dataset}. `, make("a", { href: address({ item: "" }), text: "Back to the list" })));
      return;
    }
    const [index, item] = await Promise.all([vouch.index(dataset), vouch.item(dataset, at)]);
    if (mine !== turn) return;
    const place = found.indexOf(at);
    const move = (text, step) => {
      const next = place < 0 ? undefined : found[place + step];
      return make("button", { type: "button", text, disabled: next === undefined, on: { click: () => step_to(step) } });
    };
    panel.replaceChildren(
      make("div", { class: "head" }, said("h2", item.id), make("span", { class: "moves" },
        move("‹ previous", -1), move("next ›", 1),
        make("a", { href: address({ item: "" }), class: "close", text: "Close" }))),
      view.build(dataset, { ...index, meanings, blind: blind[dataset] ?? [] }, item, asked.model));
    panel.focus({ preventScroll: true });
    panel.scrollIntoView();
  };

  const step_to = async (step) => {
    const place = found.indexOf(opened);
    const at = found[place < 0 ? (step > 0 ? asked.from : -1) : place + step];
    if (at === undefined) return;
    const [id] = await vouch.row(asked.dataset, at);
    go({ item: id, from: Math.floor(found.indexOf(at) / PAGE) * PAGE });
  };

  const show = async () => {
    const mine = ++turn, before = asked.from;
    clearTimeout(pause); // of words that were typed for what was shown before
    note.textContent = "";
    asked = read();
    fill();
    try {
      const wrong = await unknown(asked);
      if (mine !== turn) return;
      if (wrong.length) {
        const names = wrong.map((name) => `${name} ${asked[name]}`).join(", ");
        history.replaceState(null, "", address(Object.fromEntries(wrong.map((name) => [name, ""]))));
        asked = read();
        note.textContent = `Left out, as ${asked.dataset} has no such: ${names}.`;
      }
      if (!listed) form.querySelector("details").open = Object.keys(BLANK).some((name) => !["q", "model"].includes(name) && asked[name] !== "");
      await describe(asked.dataset);
      fill();
      if (!listed || !same(listed, asked)) {
        status.textContent = "Looking …";
        const items = await query.items(asked, () => mine === turn,
          (share) => { status.textContent = `Looking … ${Math.round(100 * share)} %`; });
        if (items === null || mine !== turn) return;
        found = items;
        listed = asked;
        await draw(mine);
      } else if (before !== asked.from) await draw(mine);
      await open(mine);
    } catch (error) {
      if (mine === turn) status.textContent = `${error.message}; run \`dvc repro\` and open the page again.`;
    }
  };

  const keep = (kind) => async () => {
    const shown = listed, items = found, buttons = document.querySelectorAll("#tools .save button");
    if (!shown) return; // nothing is listed yet
    for (const button of buttons) button.disabled = true;
    try {
      const name = await save.list(kind, shown, items, () => listed === shown,
        (share) => { note.textContent = `Saving … ${Math.round(100 * share)} %`; });
      note.textContent = name ? `Saved ${counted(items.length, "item")} as ${name}.` : "Not saved: the list has changed meanwhile.";
    } catch (error) {
      note.textContent = `${error.message}; run \`dvc repro\` and open the page again.`;
    }
    for (const button of buttons) button.disabled = false;
  };
  find("save-csv").addEventListener("click", keep("csv"));
  find("save-jsonl").addEventListener("click", keep("jsonl"));
  find("copy").addEventListener("click", async () => {
    const link = new URL(address(), location.href).href; // with the model that filters apply to
    try {
      await navigator.clipboard.writeText(link);
      note.textContent = "The link is copied.";
    } catch { // without a permission
      note.replaceChildren("Copy this link: ", make("input", { readonly: true, value: link, "aria-label": "Link", on: { focus: (event) => event.target.select() } }));
    }
  });

  form.addEventListener("input", (event) => {
    const { name, value } = event.target;
    const change = name === "dataset" ? { ...BLANK, dataset: value } : { [name]: value };
    clearTimeout(pause);
    pause = setTimeout(() => go({ ...change, item: name === "model" ? asked.item : "", from: 0 }, name === "q"), name === "q" ? 150 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); go({ ...BLANK, item: "", from: 0 }); });
  addEventListener("popstate", show);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") {
      if (typing) event.target.blur();
      else if (asked.item) go({ item: "" });
    } else if (typing) return;
    else if (event.key === "/") { event.preventDefault(); find("q").focus(); }
    else if (event.key === "j" || event.key === "ArrowRight") step_to(1);
    else if (event.key === "k" || event.key === "ArrowLeft") step_to(-1);
  });
  // Everything is there on paper.
  addEventListener("beforeprint", () => { for (const part of panel.querySelectorAll("details")) part.open = true; });

  if (!datasets.length) status.textContent = "There are no items.";
  else if (typeof DecompressionStream === "undefined") status.textContent = "This browser is too old for this page: it cannot decompress gzip.";
  else show();
}
