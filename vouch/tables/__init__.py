"""One file per table or document that passes between stages: its columns, path and checks; and thoughts.py,
which parts texts."""
