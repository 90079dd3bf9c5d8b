# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A water market: what noise does to prices
#
# Four districts are served from wells and along canals at least cost. The demands are secret; the market publishes its cost and its
# prices every day. We add noise to the demands, clear the market with it, and repair the noise.

# %%
import altair as alt
import pandas as pd

from ppsm import LaplaceMechanism, Sensitive, restore
from ppsm.examples.trades import DISTRICTS, water_market

alt.renderers.enable("svg")  # a picture that needs no script from elsewhere
market = water_market()
today = market.solve()
names = [f"demand[{district}]" for district in DISTRICTS]
secret = Sensitive(market.nominal, dataset="water/today", unit="ML/day", entry_names=names)
today.price("demand").to_series()

# %% [markdown]
# Thirty draws of noise with alpha = 5 ML/day, which hides any change of a district's demand by 5. The noise is seeded, so that this page
# can be made again: it is not private.

# %%
rows = []
for seed in range(30):
    noisy = LaplaceMechanism(alpha=5.0).simulate(secret, seed=seed)
    repaired = restore(market, noisy, today.value, today.price("demand").values, eta_p=0.01, eta_d=0.01)
    for kind, vector in (("plain noise", noisy.values), ("repaired", repaired.parameter)):
        answer = market.solve(vector)
        if answer.value is not None:
            for district, price in answer.price("demand").to_series().items():
                rows.append({"release": kind, "district": district, "price": price, "draw": seed})
prices = pd.DataFrame(rows)
prices.groupby(["release", "district"])["price"].agg(["min", "mean", "max"]).round(1)

# %% [markdown]
# With plain noise prices jump between steps of the supply curve; repaired, they stay where the market published them (the bars).

# %%
published = today.price("demand").to_series().rename("price").reset_index()
base = alt.Chart(prices).encode(x=alt.X("district:N", axis=alt.Axis(labelAngle=0)), y="price:Q")
dots = base.mark_circle(size=55, opacity=0.5).encode(
    xOffset="release:N",
    color=alt.Color("release:N", scale=alt.Scale(range=["#D55E00", "#0072B2"])),
    tooltip=["release", "draw", "price"],
)
bars = alt.Chart(published).mark_tick(thickness=2, size=60, color="black").encode(x="district:N", y="price:Q")
chart = (dots + bars).properties(width=420, height=260)
chart
