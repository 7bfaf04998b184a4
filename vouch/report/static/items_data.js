"use strict";
// What the stage `browse` wrote, loaded as scripts: a page that was opened from a disk may not read files.
const vouch = (() => {
  const FOLDER = new URL("../items/", document.currentScript.src).href;
  const HELD = 40; // files of pages that stay in memory
  const waiting = new Map();
  const loaded = new Map();

  // Each file calls this once: JSON, compressed by gzip, in base64.
  const put = (name, text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    waiting.get(name)?.(new Response(stream).json());
  };

  const fetched = (name) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const done = (act) => (value) => { waiting.delete(name); script.remove(); act(value); };
    waiting.set(name, done(resolve));
    script.onerror = done(() => reject(new Error(`${name}.js is missing`)));
    script.src = `${FOLDER}${name}.js`;
    document.head.append(script);
  });

  const load = (dataset, file) => {
    const name = `${dataset}/${file}`;
    const found = loaded.get(name) ?? fetched(name);
    loaded.delete(name);
    loaded.set(name, found);
    found.catch(() => loaded.delete(name));
    const pages = [...loaded.keys()].filter((each) => each.includes("/page-"));
    if (pages.length > HELD) loaded.delete(pages[0]);
    return found;
  };

  const padded = (number, digits) => String(number).padStart(digits, "0");

  // CRC-32, as in zlib: by it a link finds its item without any file that holds the ids.
  const crc = (text) => {
    let sum = -1;
    for (const byte of new TextEncoder().encode(text)) {
      sum ^= byte;
      for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return (sum ^ -1) >>> 0;
  };

  const index = (dataset) => load(dataset, "index");
  const columns = (dataset) => load(dataset, "columns");

  // Prediction sets hold every option if too few questions calibrate, so they are shown as missing.
  // The page lists where: dataset -> protocol -> model -> output -> variations.
  const uncalibrated = (dataset, protocol, model, output) => {
    const listed = JSON.parse(document.getElementById("filters").getAttribute("data-uncalibrated"));
    return listed[dataset]?.[protocol]?.[model]?.[output] ?? [];
  };
  const SETS = { faithful: ["l", "a"], clean: ["L", "A"] }; // columns of a page
  const model = async (dataset, number) => {
    const found = await load(dataset, `model-${number}`);
    const without = found.size && uncalibrated(dataset, "clean", found.model, found.output).includes("original");
    return without ? { ...found, size: found.size.map(() => -1) } : found;
  };

  // The answers of a model to a page, without such sets; x: whether a prompt lacks them.
  const masked = (dataset, { variations }, name, page, answers) => Object.fromEntries(Object.entries(answers).map(([output, given]) => {
    const shown = { ...given };
    for (const [protocol, names] of Object.entries(SETS)) {
      const listed = uncalibrated(dataset, protocol, name, output);
      if (!listed.length || !given.k) continue;
      const lacks = given.k.map((_, row) => listed.includes(variations[page.prompts[given.i?.[row] ?? row].variation]));
      shown.x = lacks.map((each, row) => each || (shown.x?.[row] ?? false));
      for (const set of names) shown[set] = given[set]?.map((value, row) => (lacks[row] ? -1 : value));
    }
    return [output, shown];
  }));

  // [id, question, options, right ones, references, tile] of items from `start` on, one file of them.
  const rows = (dataset, file) => load(dataset, `rows-${padded(file, 3)}`);
  const row = async (dataset, number) => {
    const { rows: size } = await index(dataset);
    return (await rows(dataset, Math.floor(number / size)))[number % size];
  };

  // One item with its prompts and, by model, all answers to its page.
  const item = async (dataset, number) => {
    const of = await index(dataset), size = of.page;
    const page = await load(dataset, `page-${padded(Math.floor(number / size), 4)}`);
    const place = number % size;
    const prompts = [];
    page.prompts.forEach((prompt, at) => { if (prompt.item === place) prompts.push({ ...prompt, at }); });
    const models = page.models.map((answers, at) => masked(dataset, of, of.models[at], page, answers));
    return { ...page.items[place], prompts, models };
  };

  // Number of the item with an id, -1 where there is none.
  const find = async (dataset, id) => {
    const wanted = crc(id);
    const sums = await load(dataset, "ids");
    for (let at = sums.indexOf(wanted); at >= 0; at = sums.indexOf(wanted, at + 1)) {
      if ((await row(dataset, at))[0] === id) return at;
    }
    return -1;
  };

  const sheet = (dataset, number) => `${FOLDER}${dataset}/sheet-${padded(number, 4)}.webp`;
  return { put, index, columns, model, rows, row, item, find, sheet };
})();
