"""Keep results complete, intact and known to both runners."""
