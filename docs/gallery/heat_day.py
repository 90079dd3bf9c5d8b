# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A winter day of heat and electricity
#
# A city's power operator selects the bids of plants that also make heat; the heat market of five districts answers hour by hour. Its 120
# hourly loads are secret. The operator plans with what the heat market releases: which heat prices will it expect?

# %%
import altair as alt
import pandas as pd

from ppsm import PPSM, Laplace, PublicOutcome, Sensitive
from ppsm.examples import heat_day
from ppsm.privacy import simulated_publication

alt.renderers.enable("svg")  # a picture that needs no script from elsewhere
today = heat_day(30)  # 31 January
market = today.market
loads = Sensitive(today.loads, dataset="heat/day-30", unit=market.unit, entry_names=market.entry_names)
result = market.market_result(today.loads)
figures = simulated_publication(result, dataset="heat/day-30")

# %% [markdown]
# alpha = 20 MWh hides a large building for an hour. Noise alone, and PPSM with the published figures and the forecast by degree days, both
# public. (Seeded noise: not private.)

# %%
laplace, ppsm = Laplace(alpha=20.0), PPSM(alpha=20.0, prior=today.forecast)
vectors = {
    "noise alone": laplace.simulate(loads, market, seed=1).released.values,
    "PPSM": ppsm.simulate(loads, market, PublicOutcome(figures, seed=1), seed=1).released.values,
}
true_cost = market.clear(today.loads).leader_cost
rows = []
for kind, vector in vectors.items():
    outcome = market.clear(vector)
    wrong = market.entry_prices(market.market_result(vector).prices) - market.entry_prices(result.prices)
    rows.append(
        {
            "release": kind,
            "operator's cost off by": f"{abs(outcome.leader_cost / true_cost - 1):.3%}",
            "loads off by, MWh of the day": round(float(abs(vector - today.loads).sum())),
            "hours and districts with a wrong price": int((abs(wrong) > 0.5).sum()),
        }
    )
pd.DataFrame(rows).set_index("release").T


# %% tags=["drawing"]
def differences(vector):
    prices = market.entry_prices(market.market_result(vector).prices) - market.entry_prices(result.prices)
    return market.labelled(prices).rename("difference").to_dataframe().reset_index()


table = pd.concat(differences(vector).assign(release=kind) for kind, vector in vectors.items())
shades = alt.Scale(domain=[-30, 0, 30], range=["#0072b2", "#f4f4f2", "#d55e00"], clamp=True)
chart = (
    alt.Chart(table)
    .mark_rect(stroke="white", strokeWidth=1)
    .encode(
        x=alt.X("hour:O", title="hour of the day", axis=alt.Axis(labelAngle=0, values=list(range(0, 24, 3)))),
        y=alt.Y("district:N", title=None),
        color=alt.Color("difference:Q", scale=shades, title="EUR/MWh off"),
    )
    .properties(width=520, height=120)
    .facet(
        row=alt.Row(
            "release:N",
            sort=list(vectors),
            title=None,
            header=alt.Header(
                labelAngle=0, labelOrient="top", labelAnchor="start", labelFontSize=14, labelFontWeight="bold"
            ),
        )
    )
)
chart

# %% [markdown]
# Each coloured square is an hour in which the operator would expect a wrong price of heat, select bids by it, and pay for that. What helps PPSM here
# is public: the published prices and the forecast. [Heat and electricity](../heat.html) has the game, its data, and what the forecast alone achieves.
