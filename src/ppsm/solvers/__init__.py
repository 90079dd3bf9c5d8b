"""Thin, typed doors to the optimisers: HiGHS (LP, MILP), PIQP and Clarabel (QP), and SCIP (extra)."""
