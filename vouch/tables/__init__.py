"""One file per table or document that passes between stages: its columns, path and checks; thoughts.py parts the
texts in them."""
