"use strict";
// The list as a file: CSV for spreadsheets, JSON lines for programs; made from what the pages hold.
const save = (() => {
  const ACTIVE = /^'*[=+\-@\t\r\n]/; // what a spreadsheet takes for a formula, as in vouch/tables/decisions.py
  // Control characters and those that turn the direction of writing, as in vouch/report/formatting.py
  const UNSEEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
  const CORRECT = [null, false, true, null]; // by the state of an answer: none, wrong, correct, not graded
  const KINDS = { csv: ["csv", "text/csv"], jsonl: ["jsonl", "application/x-ndjson"] };

  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value !== "string") return String(value);
    const plain = value.replace(UNSEEN, "\ufffd"), safe = ACTIVE.test(plain) ? `'${plain}` : plain;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const line = (cells) => `${cells.map(cell).join(",")}\n`;

  // One model's answer to a prompt. confidence: 0 to 1. lac_set_size: mean over the clean splits.
  const answer = (prompt, one) => ({
    answer: one.k >= 0 ? prompt.options?.[one.k] ?? null : one.y?.[0] ?? null,
    correct: CORRECT[one.r] ?? null,
    confidence: one.p ? Math.max(...one.p) / 100 : one.c >= 0 ? one.c / 100 : null,
    lac_set_size: one.L >= 0 ? one.L / 10 : null,
    flipped: Boolean(one.f),
    ...(one.t === undefined ? {} : { text: one.t }),
    ...(one.problem === undefined ? {} : { problem: one.problem }),
  });

  // An item with the answers to its prompt in one variation; models: numbers of those that are saved.
  const record = (dataset, index, item, variation, models) => {
    const prompt = item.prompts.find((each) => index.variations[each.variation] === variation);
    const options = prompt?.options ?? item.options ?? [], right = prompt?.options ? prompt.answers : item.answers;
    const answers = {};
    for (const number of prompt ? models : []) {
      const [one] = view.answers(item.models, number, prompt);
      if (one) answers[index.models[number]] = answer(prompt, one);
    }
    return {
      dataset, item: item.id, question: item.question ?? "", options,
      correct: [...(right ?? []).map((at) => options[at]), ...(item.references ?? [])],
      category: item.category ?? "", flags: item.flags ?? [], variation, answers,
    };
  };

  const OF_MODEL = ["answer", "correct", "confidence", "lac_set_size", "flipped"];
  const csv = (records, names) => {
    const heads = ["dataset", "item", "question", "options", "correct", "category", "flags", "variation"];
    const rows = records.map(({ answers, options, correct, flags, ...rest }) => {
      const of = { ...rest, options: options.join(" | "), correct: correct.join(" | "), flags: flags.join(" ") };
      return line([...heads.map((name) => of[name]), ...names.flatMap((model) => OF_MODEL.map((name) => answers[model]?.[name]))]);
    });
    return [line([...heads, ...names.flatMap((model) => OF_MODEL.map((name) => `${model} ${name}`))]), ...rows];
  };

  const handOver = (name, type, parts) => {
    const link = make("a", { href: URL.createObjectURL(new Blob(parts, { type })), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };

  // asked: what was asked for. found: numbers of items, in the order of the list.
  // live: whether the list is still wanted. Returns the name of the file, null where it is not.
  const list = async (kind, asked, found, live, progress) => {
    const { dataset } = asked, index = await vouch.index(dataset), records = new Map();
    const models = index.models.map((_, number) => number).filter((number) => !asked.model || index.models[number] === asked.model);
    let done = 0;
    for (const at of [...found].sort((a, b) => a - b)) { // page after page, each loaded once
      records.set(at, record(dataset, index, await vouch.item(dataset, at), asked.variation || "original", models));
      if (!live()) return null;
      if (++done % 100 === 0) progress(done / found.length);
    }
    const ordered = found.map((at) => records.get(at)), [end, type] = KINDS[kind], name = `${dataset}-items.${end}`;
    const names = models.map((number) => index.models[number]);
    handOver(name, type, kind === "csv" ? csv(ordered, names) : ordered.map((each) => `${JSON.stringify(each)}\n`));
    return name;
  };

  return { list, cell };
})();
