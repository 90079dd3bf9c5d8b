# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # What privacy costs: choosing alpha and eta
#
# A regulator issues emission permits at least cost and keeps their price in a corridor; industry answers at least cost. Its orders are secret.
# **alpha** is the change of an order that nobody may notice, in kilotonnes; **eta** is how far cost and prices of the released market may be
# from the published ones. How far is the regulator's cost off when it plans with a release?

# %%
import altair as alt
import pandas as pd

from ppsm import PPSM, GameCoordination, Laplace, PublicOutcome, Sensitive
from ppsm.examples import permit_game
from ppsm.privacy import simulated_publication

alt.renderers.enable("svg")  # a picture that needs no script from elsewhere
game = GameCoordination(permit_game(), unit="kt")
ORDERS = [70, 45, 25]  # steel, cement, glass
secret = Sensitive(ORDERS, dataset="permits/year", unit="kt", entry_names=game.entry_names)
figures = simulated_publication(game.market_result(ORDERS), dataset="permits/year")
truth = game.clear(ORDERS).leader_cost

# %% [markdown]
# Ten draws at each alpha (seeded: not private), with noise alone and with PPSM at a narrow and a wide eta.

# %%
KINDS = ["noise alone", "PPSM, eta 10 %", "PPSM, eta 0.1 %"]
rows = []
for alpha in (0.5, 1, 2, 4, 8):
    mechanisms = (Laplace(alpha=alpha), PPSM(alpha=alpha, eta_p=0.1, eta_d=0.1), PPSM(alpha=alpha))
    for kind, mechanism in zip(KINDS, mechanisms, strict=True):
        for seed in range(10):
            published = () if kind == "noise alone" else (PublicOutcome(figures, seed=seed),)
            outcome = game.clear(mechanism.simulate(secret, game, *published, seed=seed).released)
            cost = outcome.leader_cost if outcome.feasible else float("nan")
            rows.append({"release": kind, "alpha": alpha, "off by": abs(cost / truth - 1)})
errors = pd.DataFrame(rows)
table = errors.pivot_table(values="off by", index="release", columns="alpha", aggfunc="median", sort=False)
table.map("{:.2%}".format)

# %% tags=["drawing"]
shades = alt.Scale(domain=KINDS, range=["#d55e00", "#56a0d3", "#00456b"])
error = alt.Axis(format="~%", values=[0.0001, 0.001, 0.01, 0.1, 1])
base = alt.Chart(errors).encode(
    x=alt.X("alpha:O", title="alpha, kt: the change of an order that is hidden", axis=alt.Axis(labelAngle=0)),
    xOffset=alt.XOffset("release:N", sort=KINDS),
    y=alt.Y("shown:Q", title="the regulator's cost is off by", axis=error).scale(
        type="log", domain=[0.00008, 1]
    ),
    color=alt.Color("release:N", sort=KINDS, scale=shades, legend=alt.Legend(title=None, orient="top")),
)
draws = base.transform_calculate(shown="max(datum['off by'], 0.0001)").mark_circle(opacity=0.4, size=45)
medians = base.transform_aggregate(half="median(off by)", groupby=["release", "alpha"])
medians = medians.transform_calculate(shown="max(datum.half, 0.0001)").mark_tick(thickness=3, size=24)
chart = (draws + medians).properties(
    width=520, height=300, title="Each point a draw, 0.01 % or less at the bottom; bars are medians"
)
chart

# %% [markdown]
# The error of plain noise grows with alpha. PPSM's stays near zero almost always: the published cost and prices say what the market needs,
# and step 3b holds the release to them. It has no promise to: where the noise is as large as an order, some draws are off, with a narrow
# eta as with a wide one. So take alpha from what must be hidden, not from the accuracy you would like; begin with the default eta of 0.1 %.
