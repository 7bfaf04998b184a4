"""Draws the sample to be labelled. Strata: benchmark, subset or kind, length of the answer."""
import json, random, sys
from pathlib import Path
import pandas as pd
REF = Path("/work/shared/reference")
def shape(text):
    n = len(text.strip())
    return "bare" if n <= 3 else "short" if n <= 60 else "long"
PLAN = {"blink": {"bare": 20, "short": 130, "long": 250}, "worldmedqa": {"bare": 5, "short": 15, "long": 30},
        "mathvista_choice": {"bare": 15, "short": 75, "long": 130}, "mathvista_open": {"bare": 20, "short": 80, "long": 140}, "mmmu_pro": {"long": 60}}
rng = random.Random(20261123)
rows = []
for name in ("blink", "worldmedqa", "mathvista"):
    d = pd.read_parquet(REF / f"answers/{name}.parquet")
    d = d[~d.model.isin(["random_guess", "frequent_guess"])]
    for r in d.itertuples():
        options = json.loads(r.options) if isinstance(r.options, str) and r.options else None
        stratum = {"blink": "blink", "worldmedqa": f"worldmedqa/{r.sub}", "mathvista": f"mathvista_{r.kind}"}[name]
        rows.append(dict(set=name, stratum=f"{stratum}/{shape(r.text)}", model=r.model, id=r.id, kind=r.kind, question=r.question if isinstance(r.question, str) else None, options=options, text=r.text))
for path in sorted((REF / "outputs/mmmu_pro").glob("*.jsonl")):
    for line in path.read_text().splitlines():
        r = json.loads(line)
        if r.get("response") and shape(r["response"]) == "long":
            rows.append(dict(set="mmmu_pro", stratum="mmmu_pro/long", model=path.stem, id=r["id"], kind="choice", question=None, options=[None] * r["n_options"] if r.get("n_options") else None, text=r["response"]))
by = {}
for r in rows: by.setdefault(r["stratum"], []).append(r)
out, sizes = [], {}
for stratum in sorted(by):
    head, length = stratum.rsplit("/", 1)
    want = PLAN[head.split("/")[0]].get(length, 0)
    sizes[stratum] = len(by[stratum])
    seen, pick = set(), []
    for r in rng.sample(by[stratum], len(by[stratum])):
        if len(pick) == want: break
        if (r["set"], r["text"]) in seen and length != "bare": continue
        seen.add((r["set"], r["text"])); pick.append(r)
    out += pick
rng.shuffle(out)
for n, r in enumerate(out, 1): r["n"] = n
Path("sample.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in out))
Path("strata.json").write_text(json.dumps(sizes, indent=1))
print(len(out), {s: n for s, n in sizes.items()})
for c in range(4):
    part = [r for i, r in enumerate(out) if i % 4 == c]
    with open(f"chunk{c}.txt", "w") as f:
        for r in part:
            f.write(f"=== n {r['n']} ({r['kind']})\n")
            if r["question"]: f.write("QUESTION: " + r["question"].strip()[:1500] + "\n")
            if r["kind"] == "choice":
                if r["options"] and r["options"][0] is not None:
                    f.write("OPTIONS: " + " | ".join(f"{chr(65+i)}. {o}" for i, o in enumerate(r["options"])) + "\n")
                else: f.write(f"OPTIONS: letters A to {chr(64 + len(r['options'] or [0]*10))}, texts not known\n")
            f.write("ANSWER: <<<" + r["text"] + ">>>\n\n")
    print(c, len(part), sum(len(r["text"]) for r in part))
