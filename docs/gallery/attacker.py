# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # What an attacker sees
#
# A forge orders 30 containers a day, or 35 on days on which it has a secret contract. Somebody knows that, knows all other orders and how
# ppsm works, and sees what is released. Can he tell whether today has the contract?
#
# With alpha = 5 and epsilon = 1 the odds of any guess change by a factor of at most e, so that of two equally likely days the best guess
# is right in at most 73.1 % of all cases; a coin is right in 50 %. We put it to the test with 4,000 releases of each day (seeded: not
# private), and do the same with noise that is too quiet, such as somebody may write in a hurry.

# %%
import itertools

import altair as alt
import numpy as np
import pandas as pd

from ppsm import LaplaceMechanism, Sensitive, audit_mechanism

alt.renderers.enable("svg")  # a picture that needs no script from elsewhere
NAMES = ["mill", "forge", "market"]
USUAL, CONTRACT = np.array([40.0, 30.0, 50.0]), np.array([40.0, 35.0, 50.0])
RUNS = 4000


promised, seeds = LaplaceMechanism(alpha=5.0, epsilon=1.0), itertools.count()


def as_promised(orders):
    secret = Sensitive(orders, dataset="orders", unit="containers", entry_names=NAMES)
    return promised.simulate(secret, seed=next(seeds)).values


generator = np.random.default_rng(7)


def too_quiet(orders):
    return orders + generator.laplace(scale=1.5, size=3)  # alpha / epsilon = 5 would keep the promise


# %% [markdown]
# The best guess is simple: contract if the forge's released order is above 32.5.

# %%
rows, guesses = [], {}
mechanisms = {"noise of scale 5, as promised": as_promised, "noise of scale 1.5": too_quiet}
for label, mechanism in mechanisms.items():
    usual = np.array([mechanism(USUAL)[1] for _ in range(RUNS)])
    contract = np.array([mechanism(CONTRACT)[1] for _ in range(RUNS)])
    guesses[label] = (np.mean(usual < 32.5) + np.mean(contract > 32.5)) / 2
    for day, seen in (("usual day: 30", usual), ("contract: 35", contract)):
        count, edge = np.histogram(seen, bins=np.arange(10, 56))
        rows += [
            {"noise": label, "day": day, "order": x, "share": n / RUNS}
            for x, n in zip(edge, count, strict=False)
        ]
audits = {
    label: audit_mechanism(mechanism, USUAL, CONTRACT, claimed_epsilon=1.0, samples=RUNS)
    for label, mechanism in mechanisms.items()
}
pd.DataFrame(
    {
        "best guess is right": {label: f"{share:.1%}" for label, share in guesses.items()},
        "epsilon is at least": {label: f"{audit.epsilon_lower_bound:.2f}" for label, audit in audits.items()},
        "keeps epsilon = 1": {
            label: "no evidence against it" if audit.passes else "refuted" for label, audit in audits.items()
        },
    }
)

# %% tags=["drawing"]
shades = alt.Scale(domain=["usual day: 30", "contract: 35"], range=["#0072b2", "#d55e00"])
chart = (
    alt.Chart(pd.DataFrame(rows))
    .mark_area(opacity=0.45, interpolate="step-after", line=True)
    .encode(
        x=alt.X("order:Q", title="released order of the forge, containers", axis=alt.Axis(grid=False)),
        y=alt.Y("share:Q", title="share of releases", axis=alt.Axis(format="%"), stack=None),
        color=alt.Color("day:N", scale=shades, title=None, legend=alt.Legend(orient="top")),
    )
    .properties(width=270, height=220)
    .facet(
        column=alt.Column(
            "noise:N",
            title=None,
            sort=list(mechanisms),
            header=alt.Header(labelFontSize=13, labelFontWeight="bold"),
        )
    )
)
chart

# %% [markdown]
# With the promised noise the two days overlap, and no guess is better than promised; with the quiet noise nine of ten are right. All later steps of
# the mechanism work on the noisy orders and public data, and cannot tell more. An audit looks for such evidence in any function of a vector: [audit a mechanism](../howto-audit.html). What a market publishes by
# itself, such as its cost, tells what it tells; [the promise](../privacy.html) says how that counts.
