"""Heat and electricity: a power operator selects bids that the heat market of the day must make worthwhile.

After Mitridati, Romei, Hug and Fioretto, "Differentially-Private Heat and Electricity Markets Coordination"
(2022), whose two markets also meet in bids that are valid only at certain prices of the other one. Here power
leads and heat follows, hour by hour, with h the hour, n the district, o an offer (a plant at one of its
bids):

* leader: w_o in {0, 1}, at most one offer of a plant; the least cost of the city's power, which is bought at
  the day-ahead price p_h less what plants give: sum_h p_h (need_h - sum_o r_o q_oh) + sum_oh bid_o r_o q_oh
  + sum_o start_o w_o. The grid brings in at most G: need_h - sum_o r_o q_oh <= G.
* follower: the cheapest heat. Waste, boilers and pipes are limited, and a selected plant runs between its
  least and its full output: least_o w_o <= q_oh <= full_o w_o. In each district supply + arriving >= load_nh,
  the secret; its price is y_nh.
* bid validity: an offer asks a_o = fuel_o - r_o bid_o for its heat (a heat pump has r < 0 and no fuel). Above
  its least output it runs only where heat earns that; on the least output it must not lose over the day:
  sum_h y_nh / 24 >= a_o w_o.

``city`` has the plants and their sources, ``year`` a year of hourly loads, ``game`` the game of a day.
"""

from ppsm.examples.heat.game import HeatDay, heat_day, heat_game
from ppsm.examples.heat.year import Year, heat_year

__all__ = ["HeatDay", "Year", "heat_day", "heat_game", "heat_year"]
