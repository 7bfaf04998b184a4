"""One file per file form; none runs what it reads. Each has SUFFIXES, and

for logits             parse(data, where) -> Rows
for logs of samples    responses(sample) -> Any      from the object of a line, see samples.py beside this
                       sample(record) -> dict        object that `vouch publish export` writes for a Record
"""
