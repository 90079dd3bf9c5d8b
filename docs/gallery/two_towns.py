# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # What noise does to a market
#
# Two towns draw water from wells at 10 a megalitre. What the wells cannot give comes by tanker, at 30 in the north and at 50 in the
# south; a pipe of 10 ML joins the towns. How much each town needs is secret. With two numbers everything fits into one picture.

# %%
import altair as alt
import linopy
import numpy as np
import pandas as pd
import xarray as xr

from ppsm import Follower, LaplaceMechanism, Sensitive, restore

alt.renderers.enable("svg")  # a picture that needs no script from elsewhere


def by_town(north, south):
    return xr.DataArray([north, south], coords=[pd.Index(["north", "south"], name="town")])


market = linopy.Model()
well = market.add_variables(lower=0, upper=by_town(40, 30), name="well")
tanker = market.add_variables(lower=0, upper=by_town(20, 20), name="tanker")
pipe = market.add_variables(lower=-10, upper=10, name="pipe")  # from north to south
market.add_constraints(well + tanker + by_town(-1, 1) * pipe == by_town(36, 38), name="demand")
market.add_objective(10 * well.sum() + (by_town(30, 50) * tanker).sum())

follower = Follower.from_linopy(market, parameter="demand")
today = follower.solve()
today.price("demand").to_series()

# %% [markdown]
# First the map: the price in the south at every pair of demands. Prices are steps, and noise can fall over their edges.

# %%
cells = []
for north in range(20, 64):
    for south in range(20, 64):
        answer = follower.solve([north + 0.5, south + 0.5])
        served = np.isfinite(answer.value)
        price = f"{answer.price('demand').sel(town='south').item():.0f}" if served else "cannot be served"
        cells.append({"north": north, "south": south, "price": price})

# %% [markdown]
# Then 25 noisy versions of today's demand, with alpha = 5: whoever sees one changes the odds on 5 ML more or less in a town by at most a factor of e. Step 3b
# moves each to the nearest demand at which the market costs what it costs today and has today's prices, within 1 %. It never sees the
# secret. (The noise is seeded, so that this page can be made again. That is not private.)

# %%
secret = Sensitive(by_town(36, 38), dataset="water/today", unit="ML", entry_names=follower.parameter_names)
draws = []
for seed in range(25):
    noisy = LaplaceMechanism(alpha=5.0).simulate(secret, seed=seed)
    repaired = restore(follower, noisy, today.value, today.price("demand").values, eta_p=0.01, eta_d=0.01)
    draws.append([*noisy.values, *repaired.parameter])
draws = pd.DataFrame(draws, columns=["north", "south", "north repaired", "south repaired"])

# %% tags=["drawing"]
axis = {"scale": alt.Scale(domain=[20, 64], nice=False), "axis": alt.Axis(grid=False)}
x, y = (
    alt.X("north:Q", title="demand in the north, ML", **axis),
    alt.Y("south:Q", title="demand in the south, ML", **axis),
)
shades = alt.Scale(
    domain=["10", "30", "50", "cannot be served"], range=["#eef4fa", "#c3dcef", "#8fbbdc", "#e4e0da"]
)
price = {"title": "price in the south", "scale": shades}
regions = (
    alt.Chart(pd.DataFrame(cells))
    .transform_calculate(east="datum.north + 1", top="datum.south + 1")
    .mark_rect(strokeWidth=0.7)
    .encode(
        x,
        y,
        x2="east:Q",
        y2="top:Q",
        color=alt.Color("price:N", **price),
        stroke=alt.Stroke("price:N", **price),
    )
)
base = alt.Chart(draws).encode(x, y)
moves = base.mark_rule(color="#444", opacity=0.6).encode(x2="north repaired:Q", y2="south repaired:Q")
noisy = base.mark_circle(color="#d55e00", size=50, opacity=1)
released = base.mark_circle(color="#111", size=50, opacity=1).encode(
    x="north repaired:Q", y="south repaired:Q"
)
truth = alt.Chart(pd.DataFrame({"north": [36], "south": [38]})).encode(x, y)
truth = truth.mark_point(shape="cross", size=240, color="#111", fill="#ffd400", strokeWidth=1.5, opacity=1)
title = alt.Title(
    "Repaired demands keep today's price",
    subtitle="orange: noisy, black: released, yellow cross: the truth",
)
chart = (regions + moves + noisy + released + truth).properties(width=430, height=430, title=title)
chart

# %% [markdown]
# Plain noise makes the south pay 10 or 50 on days on which it pays 30. Repaired, it pays 30, and the black dots line up along the demands that cost
# what today's cost: the cost is public, so the sum of both towns nearly is, and how they share it stays hidden.
