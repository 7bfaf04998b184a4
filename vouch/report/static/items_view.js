"use strict";
// One item: the source, which model is correct on which prompt, and every prompt with all answers.
const view = (() => {
  const STATES = { 1: "wrong", 2: "correct", 3: "not graded" };
  const MOST = 8; // models side by side
  const OUTPUTS = { letters: "Option letters", likelihood: "Likelihood of each option", text: "Generated text" };

  // The answer of one model to one prompt, by what was asked for.
  const answers = (models, number, prompt) => Object.entries(models[number]).map(([output, given]) => {
    const at = given.i ? given.i.indexOf(prompt.at) : prompt.at;
    const problem = given.problems.find(([row]) => row === prompt.at)?.[1];
    const has = at >= 0 && (given.p ?? given.t)[at] !== undefined && (given.i !== null || problem === undefined);
    const one = { output, problem, has };
    if (has) for (const [name, values] of Object.entries(given)) if (Array.isArray(values)) one[name] = values[at];
    one.low = given.low?.find(([row]) => row === prompt.at)?.[1];
    one.other = has && given.other;
    return one;
  }).filter((one) => one.has || one.problem !== undefined);

  const letter = (prompt, place) => prompt.labels?.[place] ?? String(place + 1);
  const sure = (one) => (one.p ? Math.max(...one.p) : one.c);

  const long = (index, name) => index.meanings[name] ?? name;
  // The long name of a variation comes first, its code after it.
  const code = (index, name) => (index.meanings[name] ? make("span", { class: "meaning", text: ` ${name}` }) : null);

  // A model's name; a language model was not shown the image.
  const titled = (index, model) => [model,
    index.blind.includes(model) ? make("small", { text: " asked without images" }) : null].filter(Boolean);

  const flippedWord = (prompt) => (prompt.effect ? "not flipped" : "flipped");
  const verdict = (one, prompt) => {
    const words = [" ", make("b", { class: STATES[one.r] === "correct" ? "good" : STATES[one.r] === "wrong" ? "bad" : "",
      text: STATES[one.r] ?? "not scored" })];
    if (one.f) words.push(" ", make("span", { class: "flipped", text: flippedWord(prompt) }));
    return words;
  };

  const facts = (item) => {
    const list = make("dl", { class: "facts" });
    const add = (name, value) => value && list.append(make("div", {}, make("dt", { text: name }), said("dd", value)));
    add("Category", item.category);
    add("Group", item.group);
    add("In the source", item.source_id);
    add("Follows", item.turns?.join(", "));
    add("Flags", item.flags?.join(", "));
    return list;
  };

  const source = (dataset, item) => {
    const box = make("div", { class: "source" });
    const original = item.prompts.find((prompt) => prompt.tiles) ?? {};
    const shown = (original.tiles ?? []).map((tile, at) => [tile, `Image ${at + 1} of item ${item.id}`]);
    if (shown.length) box.append(pictures(dataset, shown));
    const words = make("div", {});
    if (item.hint) words.append(readable("p", item.hint, "hint"));
    words.append(readable("p", item.question ?? "", "question"));
    const options = make("ul", { class: "options" });
    (item.options ?? []).forEach((option, at) => {
      const right = item.answers?.includes(at);
      options.append(make("li", { class: right ? "right" : null }, readable("span", option),
        right ? make("span", { class: "mark good", text: " ✓ correct" }) : null));
    });
    for (const text of item.references ?? []) {
      options.append(make("li", { class: "right" }, readable("span", text), make("span", { class: "mark good", text: " ✓ correct" })));
    }
    words.append(options, facts(item));
    box.append(words);
    return box;
  };

  // Rows: variations; columns: models. Which variation flipped whose answer.
  const matrix = (index, item) => {
    const table = make("table", { class: "matrix" }, make("caption", { text: "Each model's answer to each prompt" }));
    const head = make("tr", {}, make("th", { scope: "col", text: "Prompt" }));
    for (const model of index.models) head.append(make("th", { scope: "col" }, ...titled(index, model)));
    const body = make("tbody", {});
    for (const prompt of item.prompts) {
      const line = make("tr", {}, make("th", { scope: "row" },
        make("a", { href: `#prompt-${prompt.at}`, text: long(index, index.variations[prompt.variation]),
          on: { click: (event) => { event.preventDefault(); document.getElementById(`prompt-${prompt.at}`).scrollIntoView(); } } }),
        code(index, index.variations[prompt.variation])));
      index.models.forEach((_, number) => {
        const [one] = answers(item.models, number, prompt);
        if (!one?.has) { line.append(make("td", { class: "none", text: one ? "no answer" : "–" })); return; }
        const mark = one.k >= 0 ? letter(prompt, one.k) : one.y?.[0] ?? "";
        const name = one.r === 2 ? "good" : one.r === 1 ? "bad" : "";
        line.append(make("td", { class: one.f ? `${name} moved` : name },
          make("span", { "aria-hidden": "true", text: one.r === 2 ? "✓ " : one.r === 1 ? "✗ " : "" }),
          make("span", { class: "hidden", text: `${STATES[one.r] ?? "not scored"} ` }), said("b", mark.slice(0, 40)),
          one.c === -1 ? null : make("small", { text: ` ${sure(one)} %` }),
          one.f ? make("small", { class: "flipped", text: ` ${flippedWord(prompt)}` }) : null));
      });
      body.append(line);
    }
    table.append(make("thead", {}, head), body);
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers to each prompt" }, table);
  };

  const inSet = (bits, place) => bits >= 0 && Math.floor(bits / 2 ** place) % 2 === 1;
  const mean = (tenths) => (tenths >= 0 ? (tenths / 10).toFixed(1) : "–");

  // One model's share of one option, and which of the sets hold it.
  const share = (one, place) => {
    if (!one?.p) return make("td", { class: "none", text: "–" });
    const tags = [["LAC", one.l], ["APS", one.a]].filter(([, bits]) => inSet(bits, place)).map(([name]) => name);
    return make("td", { class: one.k === place ? "taken" : null },
      make("span", { class: "bar" }, make("span", { style: `width:${one.p[place]}%` })),
      make("span", { text: `${one.p[place]} %` }),
      tags.length ? make("small", { class: "sets", text: tags.join(" ") }) : null);
  };

  // Rows: options in the order shown; columns: models. given: [name, answer or nothing].
  const shares = (index, prompt, output, given, several) => {
    const marked = given.some(([, one]) => one.l >= 0);
    const title = (several ? OUTPUTS[output] : "Probability of each option") + (marked ? "; LAC, APS: in the set of the faithful split" : "");
    const table = make("table", { class: "shares", style: `min-width:${6 + 3.4 * given.length}rem` }, make("caption", { text: title }));
    const row = (name, cell) => make("tr", {}, make("th", { scope: "row", text: name }), ...given.map(([, one]) => cell(one)));
    const body = make("tbody", {}, ...(prompt.options ?? []).map((option, place) => {
      const right = prompt.answers?.includes(place), added = prompt.order?.[place] < 0;
      return make("tr", { class: right ? "right" : added ? "added" : null },
        make("th", { scope: "row" }, make("span", { class: "mark", text: `${letter(prompt, place)} ` }), readable("span", option),
          right ? make("span", { class: "mark good", text: " ✓ correct" }) : null),
        ...given.map(([, one]) => share(one, place)));
    }));
    const foot = make("tfoot", {}, row("Answer", (one) => make("td", {}, ...(one?.has ? verdict(one, prompt) : ["no answer"]))));
    for (const [name, key] of [["LAC", "L"], ["APS", "A"]]) {
      if (given.some(([, one]) => one?.[key] >= 0)) {
        foot.append(row(`Options in the ${name} set, mean`, (one) => make("td", { text: mean(one?.[key] ?? -1) })));
      }
    }
    const head = make("tr", {}, make("td", {}), ...given.map(([name]) => make("th", { scope: "col" }, ...titled(index, name))));
    table.append(make("thead", {}, head), body, foot);
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Probabilities of the options" }, table);
  };

  const generated = (index, prompt, [name, one]) => {
    const box = make("div", { class: "answer" }, make("h4", {}, make("span", {}, ...titled(index, name)), ...(one.has ? verdict(one, prompt) : [])));
    if (one.t !== undefined) box.append(said("pre", one.t ?? "", "raw"));
    if (one.y) {
      const [answer, by] = one.y;
      box.append(make("p", { class: "note" }, `read by ${by}`, ...(answer ? [" as ", said("b", answer)] : []),
        one.c >= 0 ? `, ${one.c} % sure` : ""));
    }
    if (one.s?.length) {
      const samples = make("ul", {}, ...one.s.map(([heat, text]) => make("li", {}, `at ${heat}: `, said("span", text ?? ""))));
      box.append(make("details", {}, make("summary", { text: counted(one.s.length, "sample") }), samples));
    }
    return box;
  };

  const replies = (index, item, prompt, shown) => {
    const byOutput = new Map();
    for (const number of shown) {
      for (const one of answers(item.models, number, prompt)) {
        if (!byOutput.has(one.output)) byOutput.set(one.output, []);
        byOutput.get(one.output).push([index.models[number], one]);
      }
    }
    const parts = [];
    for (const [output, given] of byOutput) {
      if (output !== "text") parts.push(shares(index, prompt, output, given, byOutput.size > 1));
      else parts.push(...given.map((each) => generated(index, prompt, each)));
      for (const [name, one] of given) {
        if (one.other) {
          parts.push(make("p", { class: "note", text: `${name}: scored, and shown here, with the other spelling of the letters ` +
            "(with a leading space instead of without, or the reverse)." }));
        }
        if (one.low !== undefined) {
          parts.push(make("p", { class: "note", text: `${name}: ${one.low} % of the first token's probability is on option letters; ` +
            "it would probably answer in another form, so these options and sets mean little." }));
        }
        if (one.x) {
          parts.push(make("p", { class: "note", text: `${name}: no prediction sets; too few questions calibrate, so a set would hold every option.` }));
        }
        if (one.problem !== undefined) parts.push(make("p", { class: "note" }, `${name}, no answer: `, said("span", one.problem)));
      }
    }
    return parts;
  };

  const wording = (prompt) => {
    const lines = [];
    if (prompt.system) lines.push(["System", prompt.system]);
    for (const [question, answer] of prompt.turns ?? []) lines.push(["User", question], ["Model", answer]);
    lines.push(["User", prompt.text ?? ""]);
    if (prompt.response) lines.push(["Answer begins", prompt.response]);
    const only = lines.length === 1;
    return make("div", { class: "words" }, ...lines.flatMap(([who, text]) => [
      only ? null : make("p", { class: "who", text: who }), said("pre", text)]));
  };

  // The wording for the models whose answers are drawn: that of all, then that of models with prompts of their own.
  const asked = (index, prompt, shown) => {
    const names = shown.map((number) => index.models[number]);
    const own = (prompt.own ?? []).map((one) => ({ ...one, models: one.models.filter((name) => names.includes(name)) }))
      .filter((one) => one.models.length);
    const apart = own.flatMap((one) => one.models);
    const common = !own.length || names.some((name) => !apart.includes(name)) ? [wording(prompt)] : [];
    return [...common, ...own.flatMap((one) => [make("p", { class: "note",
      text: `${one.models.join(", ")}: asked with ${one.models.length === 1 ? "its" : "their"} own prompt (template ${one.template})` }), wording(one)])];
  };

  // Whether a variation changed nothing. Without its images that cannot be said.
  const AS_ASKED = ["system", "turns", "text", "response", "options", "labels", "steps", "tiles", "own"];
  const unchanged = (prompt, original) => original && prompt !== original && (prompt.tiles ?? []).every(Boolean)
    && AS_ASKED.every((name) => JSON.stringify(prompt[name]) === JSON.stringify(original[name]));

  const card = (dataset, index, item, prompt, shown) => {
    const name = index.variations[prompt.variation];
    const box = make("article", { class: "prompt", id: `prompt-${prompt.at}` },
      make("h3", {}, long(index, name), code(index, name)));
    if (prompt.effect) {
      box.append(make("p", { class: "note", text: prompt.effect === "swapped"
        ? "Here the other answer is correct." : "Here all other answers are correct." }));
    }
    if (unchanged(prompt, item.prompts.find((one) => index.variations[one.variation] === "original"))) {
      box.append(make("p", { class: "note", text: "The same as the original: the variation found nothing to change." }));
    }
    const shownThere = (prompt.tiles ?? []).map((tile, at) => [tile,
      `Image ${at + 1} as ${name} shows it${prompt.steps[at] ? `: ${prompt.steps[at]}` : ""}`]);
    if (shownThere.length) box.append(pictures(dataset, shownThere));
    box.append(...asked(index, prompt, shown));
    box.append(...replies(index, item, prompt, shown));
    return box;
  };

  // index.meanings: long names of variations. index.blind: models asked without images. model: name of the one whose answers are drawn, or empty for all of them, MOST at most.
  const build = (dataset, index, item, model) => {
    const all = index.models.map((_, number) => number);
    const shown = model ? [index.models.indexOf(model)] : all.slice(0, MOST);
    const box = document.createDocumentFragment();
    box.append(source(dataset, item));
    if (item.prompts.length && index.models.length) box.append(make("h3", { text: "Which model is correct, and when" }), matrix(index, item));
    box.append(make("h3", { text: item.prompts.length ? "Every prompt" : "No prompt shows this item" }));
    if (shown.length < all.length) {
      box.append(make("p", { class: "note", text: model ? `Answers of ${model}; choose “every model” above for the others.`
        : `Answers of the first ${MOST} models; choose another one above.` }));
    }
    box.append(make("div", { class: "prompts" }, ...item.prompts.map((prompt) => card(dataset, index, item, prompt, shown))));
    return box;
  };

  return { build, answers };
})();
