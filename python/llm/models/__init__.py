"""Architectures: one file each, named as `general.architecture` names it."""
