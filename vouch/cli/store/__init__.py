"""Commands that keep results complete, intact and known to both runners."""
