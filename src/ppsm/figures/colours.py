"""Colours of all pictures, such that colour-blind readers can tell them apart.

Categories use the palette of M. Okabe and K. Ito ("Color Universal Design", 2008); magnitudes use viridis and
cividis, whose lightness rises evenly, so that they also work in grey.
"""

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY, LIGHT_GREY = "#777777", "#C8C8C8"

FUEL_COLOURS = {
    "nuclear": PURPLE,
    "hydro": SKY,
    "coal": BLACK,
    "gas": ORANGE,
    "oil": VERMILION,
    "refuse": GREEN,
    "wind": BLUE,
    "solar": YELLOW,
    "other": GREY,
}
PRICE_MAP, PRESSURE_MAP = "viridis", "cividis"
