"""Exact searches, best bound first.

===================  ====================================================================================
``best_first.py``    the frame: a heap of nodes, cutoff, incumbent, verdict
``supports.py``      from a dual to an incumbent: its support is held tight
``support_tree.py``  first for least squares with bounded prices: LPs prove such a point
``side_tree.py``     the plain tree over sides, for any distance and any band
``duality_tree.py``  the same with duals in its LPs: bounded prices and any distance but squares, as in l1
``two_trees.py``     for least squares with bounded prices: one tree splits sides, one prices
``players.py``       searches that take turns on one problem and share incumbents and bounds
``lower_side.py``    for the lower side of the value band when no price is asked for (PPSM_p)
``corners.py``       the same in l1: along the axes, from corner to corner of the public bounds
===================  ====================================================================================
"""
