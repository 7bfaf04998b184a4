"""The `vouch` command: what people do by hand. One file per subcommand."""
