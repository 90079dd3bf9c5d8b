"""Thin, typed doors to the optimisers.

::

    highs       LPs that stay alive between solves, and MILPs
    qp          PIQP, and Clarabel where it gives up
    scip        MILPs with SOS1 sets and indicators (an extra)
    mip         mixed-integer programs and their results, whoever solves them
    conflict    why an LP has no point
    tuning      how exactly they work, and what is tried where one gives up
"""
