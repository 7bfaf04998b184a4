"use strict";
// Formulas between $ $, \( \) and the like as MathML, which browsers draw themselves: what questions hold of TeX.
// A formula with anything else in it stays as it was written.
const maths = (() => {
  const SIGNS = { alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ϵ", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ", kappa: "κ",
    lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", phi: "ϕ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω",
    Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ", Pi: "Π", Sigma: "Σ", Phi: "Φ", Psi: "Ψ", Omega: "Ω", infty: "∞", partial: "∂", nabla: "∇",
    ell: "ℓ", emptyset: "∅", prime: "′", degree: "°", circ: "∘", bullet: "•", square: "□", angle: "∠", measuredangle: "∡", triangle: "△",
    times: "×", cdot: "⋅", div: "÷", pm: "±", mp: "∓", ast: "∗", star: "⋆", odot: "⊙", oplus: "⊕", le: "≤", leq: "≤", ge: "≥", geq: "≥",
    lt: "<", gt: ">", ne: "≠", neq: "≠", approx: "≈", equiv: "≡", cong: "≅", sim: "∼", propto: "∝", parallel: "∥", perp: "⊥", in: "∈", notin: "∉",
    subset: "⊂", subseteq: "⊆", cup: "∪", cap: "∩", land: "∧", lor: "∨", neg: "¬", forall: "∀", exists: "∃", to: "→", rightarrow: "→",
    leftarrow: "←", downarrow: "↓", uparrow: "↑", leftrightarrow: "↔", Rightarrow: "⇒", implies: "⟹", iff: "⟺", therefore: "∴", because: "∵",
    ldots: "…", cdots: "⋯", dots: "…", vdots: "⋮", sum: "∑", prod: "∏", int: "∫", oint: "∮", lvert: "|", rvert: "|", vert: "|", mid: "|",
    langle: "⟨", rangle: "⟩", lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉", "{": "{", "}": "}", "|": "‖", "%": "%", $: "$", "&": "&",
    "#": "#", _: "_" };
  const WIDE = { quad: "1em", qquad: "2em", ",": "0.17em", ":": "0.22em", ";": "0.28em", " ": "0.25em", "!": "0", "~": "0.25em" };
  const NAMED = /^(arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|sinh|cosh|tanh|log|ln|lg|exp|lim|max|min|det|gcd|dim|deg)$/;
  const OVER = { overline: "¯", bar: "¯", hat: "^", widehat: "⏜", overarc: "⏜", vec: "→", overrightarrow: "→", tilde: "~", dot: "˙", ddot: "¨" };
  const FONTS = /^(mathrm|mathbf|mathit|mathbb|mathcal|mathsf|boldsymbol|bm|operatorname|boxed|mbox|displaystyle|textstyle|rm|bf|it|limits|nolimits)$/;
  const UPRIGHT = /^(mathrm|mathbf|mathsf|operatorname|mbox)$/;
  const TABLES = /^(array|[bpvB]?matrix|cases|aligned?|split|gathered)$/;
  const DEEPEST = 60;

  const element = (name, ...children) => {
    const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", name);
    made.append(...children);
    return made;
  };
  const row = (parts) => (parts.length === 1 ? parts[0] : element("mrow", ...parts));

  // Throws where it meets what it does not know.
  const parse = (source) => {
    const tokens = source.match(/\\[a-zA-Z]+|\\[^]|\d+(?:\.\d+)?|[^\s]|\s+/gu) ?? [];
    let at = 0, depth = 0;
    const fail = () => { throw new SyntaxError(source); };
    const space = () => { while (/^\s/.test(tokens[at] ?? "")) at++; };
    const peek = () => { space(); return tokens[at]; };
    const raw = () => { // what stands in braces, as text
      if (peek() !== "{") fail();
      const from = ++at;
      for (let open = 1; open; at++) {
        if (at >= tokens.length) fail();
        open += tokens[at] === "{" ? 1 : tokens[at] === "}" ? -1 : 0;
      }
      return tokens.slice(from, at - 1).join("");
    };
    const group = () => {
      if (++depth > DEEPEST) fail();
      let made;
      if (peek() === "{") { at++; made = row(list("}")); } else made = single();
      depth--;
      return made;
    };
    const fence = () => { const sign = tokens[(space(), at++)] ?? fail(); return sign === "." ? "" : SIGNS[sign.slice(1)] ?? sign; };
    const table = (kind) => {
      const rows = [[]];
      if (kind === "array") raw();
      for (;;) {
        rows.at(-1).push(element("mtd", ...list("&", "\\\\", "\\end")));
        const end = tokens[at - 1];
        if (end === "\\\\") rows.push([]);
        else if (end === "\\end") break;
      }
      if (raw() !== kind) fail();
      const made = element("mtable", ...rows.map((cells) => element("mtr", ...cells)));
      const [left, right] = { bmatrix: "[]", pmatrix: "()", vmatrix: "||", Bmatrix: "{}", cases: "{" }[kind] ?? "";
      return left ? element("mrow", element("mo", left), made, ...(right ? [element("mo", right)] : [])) : made;
    };
    const command = (name) => {
      if (/^[dt]?frac$/.test(name)) return element("mfrac", group(), group());
      if (/^[dt]?binom$/.test(name)) {
        const pair = element("mfrac", group(), group());
        pair.setAttribute("linethickness", "0");
        return element("mrow", element("mo", "("), pair, element("mo", ")"));
      }
      if (name === "sqrt") {
        if (peek() !== "[") return element("msqrt", group());
        at++;
        const index = row(list("]"));
        return element("mroot", group(), index);
      }
      if (name in OVER) return element("mover", group(), element("mo", OVER[name]));
      if (name === "underline") return element("munder", group(), element("mo", "_"));
      if (/^text(rm|bf|it|sf)?$/.test(name)) return element("mtext", raw().replace(/^\s|\s$/g, "\u00a0"));
      if (name === "left") {
        const left = fence(), inside = list("\\right");
        return element("mrow", element("mo", left), ...inside, element("mo", fence()));
      }
      if (name === "begin") { const kind = raw(); return TABLES.test(kind) ? table(kind) : fail(); }
      if (FONTS.test(name)) {
        const made = peek() === "{" ? group() : element("mrow");
        if (UPRIGHT.test(name)) for (const each of [made, ...made.querySelectorAll("mi")]) each.setAttribute("mathvariant", "normal");
        return made;
      }
      if (NAMED.test(name)) return element("mi", name);
      if (name in WIDE) { const gap = element("mspace"); gap.setAttribute("width", WIDE[name]); return gap; }
      if (!Object.hasOwn(SIGNS, name)) fail();
      return element(/^\p{L}$/u.test(SIGNS[name]) ? "mi" : "mo", SIGNS[name]);
    };
    const single = () => {
      const token = tokens[(space(), at++)] ?? fail();
      if (token[0] === "\\") return command(token.slice(1));
      if (token === "{") { at--; return group(); }
      if (/^\d/.test(token)) return element("mn", token);
      if (token === "~") return command("~");
      if (/[}^_&$#%]/.test(token)) fail();
      if (/^\p{L}$/u.test(token)) return element("mi", token);
      const sign = element("mo", token === "-" ? "−" : token);
      sign.setAttribute("stretchy", "false"); // brackets grow between \left and \right alone
      return sign;
    };
    const scripts = (base) => {
      let low, high, primes = "";
      for (let next = peek(); next === "_" || next === "^" || next === "'"; next = peek()) {
        at++;
        if (next === "'") primes += "′";
        else if (next === "_" ? low : high) fail();
        else if (next === "_") low = group();
        else high = group();
      }
      if (primes) high = row([element("mo", primes), ...(high ? [high] : [])]);
      if (low && high) return element("msubsup", base, low, high);
      return low ? element("msub", base, low) : high ? element("msup", base, high) : base;
    };
    // Up to one of the ends, which is read; or to the end of the formula, where none is given.
    const list = (...ends) => {
      const parts = [];
      for (let next = peek(); !ends.includes(next); next = peek()) {
        if (next === undefined) { if (ends.length) fail(); return parts; }
        if (next === "\\over") { at++; return [element("mfrac", row(parts), row(list(...ends)))]; }
        parts.push(scripts(next === "^" || next === "_" ? element("mrow") : single()));
      }
      at++;
      return parts;
    };
    return element("math", ...list());
  };

  // A dollar is a sign of money unless the next one touches what stands before it and no figure after it.
  const FORMULA = /\$\$([^$]+)\$\$|\\\(([^]+?)\\\)|\\\[([^]+?)\\\]|\$(?!\)|\s\s)((?:[^$\\]|\\[^])+?)(?<!\s)\$(?!\d)/g;
  const BARE = /^(?=[^]*\\[a-zA-Z])(?![^]*(?<![\\a-zA-Z])[a-zA-Z]{3})/; // TeX alone, as some options are

  // The text with its formulas drawn: nodes to append.
  const nodes = (text) => {
    const found = [];
    let from = 0;
    for (const match of text.matchAll(FORMULA)) {
      let drawn;
      try { drawn = parse(match.slice(1).find((part) => part !== undefined)); } catch { continue; }
      found.push(text.slice(from, match.index), drawn);
      from = match.index + match[0].length;
    }
    if (!found.length && BARE.test(text)) try { return [parse(text)]; } catch { return [text]; }
    return [...found, text.slice(from)];
  };
  return { nodes };
})();
