"use strict";
// Which items the reader asked for, in which order. Loads only what that needs.
const query = (() => {
  const NUMBERS = ["sure_low", "sure_high", "size_low", "size_high"];
  const OF_MODEL = { answer: ["right", "wrong"], sort: ["sure", "unsure", "size", "flipped"] };
  const RIGHT = "rR", WRONG = "wW", FLIPPED = "WRU";

  const needsModel = (asked) => Boolean(asked.flipped) || NUMBERS.some((name) => asked[name] !== "")
    || Object.entries(OF_MODEL).some(([name, values]) => values.includes(asked[name]));
  const needsColumns = (asked) => Boolean(asked.category || asked.flag) || asked.sort === "hard"
    || ["all_right", "all_wrong", "mixed"].includes(asked.answer);

  // Tests of one item by its number.
  const ofColumns = (asked, columns) => {
    const tests = [];
    if (asked.category) {
      const wanted = columns.categories.indexOf(asked.category);
      tests.push((at) => columns.category[at] === wanted);
    }
    if (asked.flag) {
      const marked = new Set(columns.flagged[columns.flags.indexOf(asked.flag)] ?? []);
      tests.push((at) => marked.has(at));
    }
    const { correct, answered } = columns;
    if (asked.answer === "all_right") tests.push((at) => answered[at] > 0 && correct[at] === answered[at]);
    if (asked.answer === "all_wrong") tests.push((at) => answered[at] > 0 && correct[at] === 0);
    if (asked.answer === "mixed") tests.push((at) => correct[at] > 0 && correct[at] < answered[at]);
    return tests;
  };

  const between = (values, low, high, scale) => {
    const least = low === "" ? -Infinity : Number(low) * scale, most = high === "" ? Infinity : Number(high) * scale;
    return (at) => values[at] >= 0 && values[at] >= least && values[at] <= most;
  };

  const ofModel = (asked, model, variations) => {
    const tests = [];
    const states = model.states[variations.indexOf(asked.variation || "original")] ?? "";
    if (asked.answer === "right") tests.push((at) => RIGHT.includes(states[at] ?? "-"));
    if (asked.answer === "wrong") tests.push((at) => WRONG.includes(states[at] ?? "-"));
    if (asked.flipped === "any") tests.push((at) => model.states.some((each) => FLIPPED.includes(each[at])));
    else if (asked.flipped) {
      const flipped = model.states[variations.indexOf(asked.flipped)] ?? "";
      tests.push((at) => FLIPPED.includes(flipped[at] ?? "-"));
    }
    if (asked.sure_low !== "" || asked.sure_high !== "") {
      tests.push(between(model.confidence, asked.sure_low, asked.sure_high, 10));
    }
    if (asked.size_low !== "" || asked.size_high !== "") {
      tests.push(between(model.size, asked.size_low, asked.size_high, 100));
    }
    return tests;
  };

  const flips = (model, at) => model.states.reduce((sum, each) => sum + FLIPPED.includes(each[at]), 0);

  const sorted = (found, asked, columns, model) => {
    const known = (values, sign) => (at) => (values[at] < 0 ? Infinity : sign * values[at]);
    const keys = {
      hard: () => (at) => (columns.answered[at] ? columns.correct[at] / columns.answered[at] : Infinity),
      sure: () => known(model.confidence, -1), unsure: () => known(model.confidence, 1),
      size: () => known(model.size, -1), flipped: () => (at) => -flips(model, at),
    };
    if (!(asked.sort in keys)) return found;
    const key = keys[asked.sort]();
    const values = new Map(found.map((at) => [at, key(at)]));
    return found.sort((a, b) => values.get(a) - values.get(b) || a - b);
  };

  // As people type it: no capitals, no accents.
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  // Numbers of items whose id, question, options or references hold all words.
  const holding = async (dataset, index, words, live, progress) => {
    const found = new Set(), files = Math.ceil(index.items / index.rows);
    for (let file = 0; file < files && live(); file++) {
      const rows = await vouch.rows(dataset, file);
      rows.forEach(([id, question, options, , references], place) => {
        const text = plain([id, question, ...options, ...references].join("\n"));
        if (words.every((word) => text.includes(word))) found.add(file * index.rows + place);
      });
      if (files > 3) progress((file + 1) / files);
    }
    return found;
  };

  // live: whether the answer is still wanted. Returns null where it is not.
  const items = async (asked, live, progress) => {
    const { dataset } = asked, index = await vouch.index(dataset), tests = [];
    const number = Math.max(0, index.models.indexOf(asked.model));
    const columns = needsColumns(asked) ? await vouch.columns(dataset) : null;
    const model = needsModel(asked) && index.models.length ? await vouch.model(dataset, number) : null;
    if (columns) tests.push(...ofColumns(asked, columns));
    if (model?.states) tests.push(...ofModel(asked, model, index.variations));
    const words = plain(asked.q).split(/\s+/).filter(Boolean);
    if (words.length) {
      const held = await holding(dataset, index, words, live, progress);
      tests.push((at) => held.has(at));
    }
    if (!live()) return null;
    const found = [];
    for (let at = 0; at < index.items; at++) if (tests.every((test) => test(at))) found.push(at);
    return sorted(found, asked, columns, model?.states ? model : null);
  };

  return { items, needsModel, flips, RIGHT, WRONG };
})();
