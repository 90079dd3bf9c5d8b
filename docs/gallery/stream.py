# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A release every day: where the budget goes
#
# Industry tells a regulator of emission permits its orders, every day. The promise: any seven days in a row lose at most epsilon = 1 together.
# Sampling every day would leave a seventh of it for each. A stream asks instead, at little cost, whether a day differs from what
# is known already, and samples where it does.

# %%
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np
import pandas as pd

from ppsm import PPSM, GameCoordination, Ledger, Sensitive
from ppsm.examples import permit_game
from ppsm.streams import (
    Absorption,
    Knowledge,
    Promise,
    PublicDay,
    Settings,
    Spread,
    StreamDay,
    StreamRun,
)

alt.renderers.enable("svg")  # a picture that needs no script from elsewhere
usual = np.array([70.0, 45.0, 25.0])  # kilotonnes a day of steel, cement and glass, as everybody knows
industry = GameCoordination(permit_game(), unit="kt", bounds=(np.zeros(3), 2 * usual))

# %% [markdown]
# Eight weeks of orders. At weekends they are lower, which is public; on day 29 a steel mill opens and orders rise by a quarter, which is secret.

# %%
generator = np.random.default_rng(5)
days, truth = [], []
for number in range(56):
    day = date(2026, 3, 2) + timedelta(days=number)
    public = usual * (0.6 if day.weekday() > 4 else 1.0)
    orders = public * (1.25 if number >= 28 else 1.0) * generator.normal(1, 0.02, 3)
    secret = Sensitive(
        orders, dataset="orders", unit="kt", entry_names=industry.entry_names, day=day.isoformat()
    )
    days.append(StreamDay(PublicDay(day, public), secret))
    truth.append({"day": day, "orders": orders.sum(), "line": "truth (secret)"})

# %% [markdown]
# The budget is granted for windows of seven days. Noise is drawn from the operating system, so this picture is another one in every run.

# %%
settings = Settings(
    promise=Promise(alpha=1.0, epsilon=1.0, window=7),
    policy=Absorption(),
    mechanism=PPSM(alpha=1.0),
    knowledge=Knowledge(drift=Spread(own=0.01, shared=0.05)),  # orders may change in a week or two
)
with TemporaryDirectory() as folder:
    ledger = Ledger.create(Path(folder) / "stream.db")
    ledger.grant("orders", epsilon=1.0, alpha=1.0, unit="kt", window=7)
    run = StreamRun(settings, lambda _: industry, directory=Path(folder) / "stream", ledger=ledger)
    released = list(run.release(days))

loss = pd.DataFrame({"day": [each.day for each in released], "loss": [each.loss for each in released]})
loss["seven days"] = loss["loss"].rolling(7, min_periods=1).sum()
f"{sum(each.sampled for each in released)} of 56 days sampled, worst week {loss['seven days'].max():.3f}"

# %% tags=["drawing"]
lines = pd.DataFrame(
    truth
    + [{"day": each.day, "orders": each.values.sum(), "line": "released"} for each in released]
    + [
        {"day": each.public.day, "orders": each.public.profile.sum(), "line": "public profile"}
        for each in days
    ]
)
sampled = pd.DataFrame([{"day": each.day, "orders": each.values.sum()} for each in released if each.sampled])
for table in (lines, sampled, loss):
    table["day"] = pd.to_datetime(table["day"])
x = alt.X("day:T", title=None, axis=alt.Axis(format="%-d %b", grid=False))
shades = alt.Scale(
    domain=["truth (secret)", "released", "public profile"], range=["#d55e00", "#0072b2", "#9aa5ad"]
)
y = alt.Y("orders:Q", title="kilotonnes a day", scale=alt.Scale(zero=False))
color = alt.Color("line:N", scale=shades, title=None, legend=alt.Legend(orient="top"))
above = alt.Chart(lines).mark_line(strokeWidth=2).encode(x, y, color)
above += alt.Chart(sampled).mark_circle(color="#0072b2", size=55, opacity=1).encode(x, y)
lost = alt.Chart(loss).mark_area(color="#0072b2", opacity=0.25, interpolate="step-after")
lost = lost.encode(x, y=alt.Y("seven days:Q", title="epsilon", scale=alt.Scale(domain=[0, 1.1])))
bars = alt.Chart(loss).mark_bar(color="#0072b2", size=6).encode(x, y="loss:Q")
limit = (
    alt.Chart(pd.DataFrame({"limit": [1.0]})).mark_rule(strokeDash=[6, 4], color="#111").encode(y="limit:Q")
)
chart = alt.vconcat(
    above.properties(width=560, height=210, title="Orders; a dot where the day was sampled"),
    (lost + bars + limit).properties(
        width=560, height=110, title="Spent on the day (bars), in seven days (area), allowed (dashes)"
    ),
)
chart

# %% [markdown]
# While orders follow what is known the stream mostly asks, and the budget of a quiet week is there when the mill opens. Whatever the days
# bring, no seven of them lose more than 1: the ledger refuses what would.
