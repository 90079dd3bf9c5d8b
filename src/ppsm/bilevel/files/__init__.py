"""Bilevel instances as files: ``mps`` and ``exchange`` (its auxiliary file) read them, text by text.

``text_file`` opens and checks any of them, ``mps_lines`` cuts MPS lines into words, ``mps_bounds`` reads the
BOUNDS section.
"""
