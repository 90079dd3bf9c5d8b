"""What an answer has to pass: LP vertices that confirm it, and a certificate that trusts no search.

==================  =====================================================================================
``polish.py``       from an interior-point answer to a witness at LP vertices
``certificate.py``  the independent check: matrix-vector products, or everything solved again by SciPy
==================  =====================================================================================
"""
