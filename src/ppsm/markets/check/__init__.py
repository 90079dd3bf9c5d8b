"""What is said of an answer after the search: an independent check, and an explanation where there is none.

``certificate`` writes the rules of commitment, EM, GM and validity out again from the tables of the case and
solves with SciPy: it shares nothing with the models, and returns findings with amount and unit. ``shortages``
says why a gas demand has no answer: which junctions lack gas, and which supplies, pipes and stations stand
between. Neither raises for what it finds.
"""
