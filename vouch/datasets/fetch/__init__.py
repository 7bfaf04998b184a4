"""sources: brings the files of published datasets to this machine, pinned and verified, and reads them."""
