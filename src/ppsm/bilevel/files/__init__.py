"""Bilevel instances as files: ``mps`` and ``exchange`` (its auxiliary file) read them, text by text.

``lines`` opens and checks any of them, and cuts those of MPS into words.
"""
