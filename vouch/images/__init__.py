"""Images: decoding, the operations of variations, `Look`s for finding copies, prefetching."""
