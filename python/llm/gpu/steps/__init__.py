"""Fused steps of a single token."""
