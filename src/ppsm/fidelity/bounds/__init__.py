"""Lower bounds of what a search may still find, and the inequalities they rest on.

====================  ===================================================================================
``convex.py``         over answers and parameters, complementarity only on sides that are held: as a QP,
                      and as an LP that stays alive, with tangents for squares
``duality_lp.py``     the same LP with duals in it, worth what the answers cost, where prices are bounded
``least_penalty.py``  over answers, parameters and duals, from LPs: at a point that may be optimal
``primal_dual.py``    the same as a QP, where no point is known, and its tangent for children
``price_boxes.py``    ranges for the prices of every point that could be better
``price_levels.py``   over duals whose prices are split at the market's costs
====================  ===================================================================================

One more, an affine minorant that knows strong duality, is read off where supports are tried
(``search/supports.py``).
"""
