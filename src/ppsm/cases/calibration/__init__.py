"""From published networks to a case: every figure that the publications leave open is chosen here, once."""
