"""Images: decoding, the operations of variations, looks for finding copies, prefetching."""
