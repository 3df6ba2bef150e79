"""Passes of a few tokens, whose layers run in one dispatch."""
