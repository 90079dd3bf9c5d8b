"""Measurements of what the documentation claims."""
