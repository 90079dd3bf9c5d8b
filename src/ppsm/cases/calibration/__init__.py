"""From published networks to a case: every number that the publications leave open is chosen here, once.

``assumptions`` has the choices with their reasons, those of the Northeast at its end. ``build`` turns the
networks and the choices into the tables of a case; the gas market takes flow directions as known, so that
``directions`` finds them by a small MILP at the withdrawals of the most stressed cell, whose burn comes from
an approximate dispatch.
"""
