# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A power grid from PyPSA whose loads are secret
#
# A [PyPSA](https://pypsa.org) network of eight buses: wind on the coast, water in the hills, gas and oil inland, lines with limits. Its loads
# belong to utilities that keep them to themselves; its prices are published.

# %%
import logging
import warnings

import altair as alt
import pandas as pd
import pypsa

from ppsm import Follower, LaplaceMechanism, Sensitive, restore

alt.renderers.enable("svg")  # a picture that needs no script from elsewhere
warnings.filterwarnings("ignore", module="pypsa")
logging.getLogger("pypsa").setLevel(logging.ERROR)

places = pd.DataFrame(
    {"x": [0, 1.1, 2.2, 0.4, 1.6, 2.9, 0.9, 2.2], "y": [2.2, 2.5, 2.3, 1.2, 1.4, 1.3, 0.2, 0.3]},
    index=["cape", "bay", "hill", "mill", "city", "pass", "port", "plain"],
)
loads = pd.Series([40.0, 90.0, 30.0, 80.0, 190.0, 50.0, 110.0, 70.0], index=places.index)
lines = """
cape bay 160, cape mill 130, bay city 120, bay hill 100, hill pass 110, mill city 90, mill port 70, city pass 100,
city plain 80, port plain 70, pass plain 60
"""
plants = """
wind cape 330 4, water hill 160 18, gas city 120 52, gas port 80 58, oil city 90 96, oil plain 120 104
"""


def table(text, *columns):
    found = pd.DataFrame([row.split() for row in text.split(",")], columns=columns)
    found.index = found[columns[0]] + " " + found[columns[1]]
    return found.astype(dict.fromkeys(columns[2:], float))


lines, plants = table(lines, "from", "to", "limit"), table(plants, "fuel", "bus", "size", "cost")

grid = pypsa.Network()
grid.add("Bus", places.index)
grid.add("Line", lines.index, bus0=lines["from"], bus1=lines["to"], s_nom=lines["limit"], x=0.1)
grid.add("Generator", plants.index, bus=plants["bus"], p_nom=plants["size"], marginal_cost=plants["cost"])
grid.add("Load", places.index, bus=places.index, p_set=loads)

follower = Follower.from_pypsa(grid)
today = follower.solve()
today.price("Bus-nodal_balance").to_pandas().T.round(1)

# %% [markdown]
# Noise with alpha = 10 MW on every load moves the prices of the whole grid. Step 3b finds the nearest loads at which cost and prices
# are the published ones, within 1 %. Thirty draws (seeded: not private):

# %%
secret = Sensitive(loads, dataset="loads/now", unit="MW", entry_names=follower.parameter_names)
published = follower.parameter_map.T @ today.prices  # at the rows in which the loads stand
answers = {"published": [], "with noise": [], "repaired": []}
for seed in range(30):
    noisy = LaplaceMechanism(alpha=10.0).simulate(secret, seed=seed)
    faithful = restore(follower, noisy, today.value, published, eta_p=0.01, eta_d=0.01)
    for kind, vector in zip(answers, (loads, noisy.values, faithful.parameter), strict=True):
        answers[kind].append(follower.solve(vector))
kept = {
    kind: sum(
        abs(each.price("Bus-nodal_balance") - today.price("Bus-nodal_balance")).max().item() < 1
        for each in found
    )
    for kind, found in answers.items()
}
off = {kind: sum(abs(each.value / today.value - 1) for each in found) / 30 for kind, found in answers.items()}
pd.DataFrame(
    {"draws with today's prices, of 30": kept, "cost off by, mean": {k: f"{v:.1%}" for k, v in off.items()}}
)

# %% [markdown]
# The first of these draws as maps, with prices in $/MWh:

# %% tags=["drawing"]
wires = lines.join(places, on="from").join(places.add_suffix("2"), on="to")
shades = alt.Scale(domain=[0, 140], range=["#fff3d6", "#e69f00", "#8a3b00"])
color = alt.Color("price:Q", scale=shades, legend=None)
plane = {
    "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.3, 3.2])),
    "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.2, 3.0])),
}


def price_map(kind):
    prices = answers[kind][0].price("Bus-nodal_balance").values.ravel()
    at = alt.Chart(places.assign(price=prices).rename_axis("bus").reset_index()).encode(**plane)
    wire = alt.Chart(wires).mark_rule(color="#8a949b", strokeWidth=2).encode(**plane, x2="x2:Q", y2="y2:Q")
    circles = at.mark_circle(size=620, opacity=1, stroke="#333", strokeWidth=1).encode(color=color)
    dark = alt.condition(alt.datum.price > 85, alt.value("white"), alt.value("#222"))
    numbers = at.mark_text(fontSize=11, fontWeight="bold").encode(
        text=alt.Text("price:Q", format=".0f"), color=dark
    )
    names = at.mark_text(dy=-22, fontSize=11, color="#333").encode(text="bus:N")
    ground = at.mark_text(dy=-22, fontSize=11, stroke="white", strokeWidth=4).encode(text="bus:N")
    return (wire + ground + circles + numbers + names).properties(width=230, height=210, title=kind)


chart = alt.hconcat(*map(price_map, answers))
chart

# %% [markdown]
# A congested line is either full or not, so a little noise halves the price of a whole region. A planner who was given the noisy loads
# would see another market; with the repaired ones it sees today's.
