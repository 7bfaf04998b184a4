"""The `vouch` command: everything that people do by hand. One file per subcommand."""

import sys
from importlib.util import find_spec

from vouch.pipeline.interruption import end_quietly, is_program
from vouch.pipeline.processor import fix_kernels

if is_program("vouch"):
    end_quietly()
if find_spec("dvc") is None:
    sys.exit("vouch: the command needs more than the library; run in the clone: pip install '.[pipeline]'")
fix_kernels()  # `vouch store warm` asks models, as stages do
