"""Thin, typed doors to the optimisers: HiGHS (default) and SCIP (extra)."""
