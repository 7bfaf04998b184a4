"""The judge is a server on loopback, as the rewriter is."""

from tests.prompts.rewrites.conftest import server as server
