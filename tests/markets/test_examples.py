import pytest
from examples.clear_gas_market import main


def test_the_gas_market_example_prints_hand_checked_prices(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    assert capsys.readouterr().out.splitlines() == [
        "800 MWh cost 8000 $: field 10 $/MWh, city 10 $/MWh",
        "1200 MWh cost 14000 $: field 20 $/MWh, city 20 $/MWh",
        "1900 MWh cost 29000 $: field 20 $/MWh, city 30 $/MWh",
    ]
