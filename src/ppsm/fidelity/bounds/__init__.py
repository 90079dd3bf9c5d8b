"""Lower bounds of what a search may still find, and the inequalities they rest on.

====================  ===================================================================================
``relaxation.py``     the QP over answers and parameters: complementarity only on sides that are held
``distance_lp.py``    the same as an LP that stays alive, squares by tangents
``duality_bound.py``  an affine minorant that knows strong duality, read off that QP's multipliers
``primal_dual.py``    the QP over answers, parameters and duals, and its tangent for children
``price_boxes.py``    ranges for the prices of every point that could be better
====================  ===================================================================================
"""
