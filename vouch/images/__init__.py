"""Pictures: decoding, the operations of variations, hashing, prefetching."""
