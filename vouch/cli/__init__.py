"""The `vouch` command: what people do by hand. One file per subcommand."""

from vouch.pipeline.processor import keep_to_avx2

keep_to_avx2()  # `vouch store warm` asks models, as stages do
