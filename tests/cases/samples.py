"""Small files in the published formats, written for these tests."""

POWER = """\
function mpc = three_bus
%% a comment with 'quotes' and [brackets]
mpc.version = '2';
mpc.baseMVA = 100;

%	bus_i	type	Pd	Qd	Gs	Bs	area	Vm	Va	baseKV	zone	Vmax	Vmin
mpc.bus = [
	1	3	50.5	0	0	0	1	1	0	345	1	1.05	0.95;
	2	2	200	0	0	0	1	1	0	345	1	1.05	0.95 % load centre
	30	2	-20, 0, 0, 0, 1, 1, 0, 345, 1, 1.05, 0.95
];
mpc.gen = [
	1	0	0	50	-50	1	100	1	300	0	0	0	0	0	0	0	0	0	0	0	0
	2	0	0	50	-50	1	100	1	400	10	0	0	0	0	0	0	0	0	0	0	0
	30	0	0	50	-50	1	100	1	40	40	0	0	0	0	0	0	0	0	0	0	0
	30	0	0	50	-50	1	100	0	90	0	0	0	0	0	0	0	0	0	0	0	0
];
mpc.branch = [
	1	2	0.01	0.1	0	150	150	150	0	0	1	-30	30
	2	30	0.01	0.2	0	0.0	0	0	1.05	-1.1	1	-30	30
	1	30	0.01	0.2	0	9.99999999e8	0	0	1	0	1	-30	30
];
mpc.gencost = [
	2	0	0	3	0.0	20	5
	2	0	0	2	35	0	0
	1	0	0	2	0	0	100	4000
	2	0	0	3	0.1	10	0
];
%column_names%  name fuel_type comment
mpc.gen_name = [
	'one'	'Coal'	'none';
	'it''s two'	'Gas'	'single_cycle';
	'line'	'None'	'DC Line Terminal';
	'off'	'Oil'	'none';
];
%column_names% latitude longitude
mpc.bus_geo = [
	41.5	-75.5
	41.0	-74.5
	42.0	-74.0
];
"""

_GAS_TABLES = """\
%% junction data
% id	p_min	p_max	p_nominal	junction_type	status	pipeline_name	edi_id	lat	lon
mgc.junction = [
1	{p}	{q}	{p}	0	1	'main line'	1	41	-76
2	{p}	{q}	{p}	0	1	'main line'	2	41	-75
3	{p}	{q}	{p}	0	1	'main line'	3	41	-74
4	{p}	{q}	{p}	0	1	'main line'	4	41	-73
];
%% pipe data
% id	fr_junction	to_junction	diameter	length	friction_factor	p_min	p_max	status
mgc.pipe = [
1	1	2	{d}	{l}	0.01	{p}	{q}	1
2	4	3	{d}	{l}	0.01	{p}	{q}	1
];
%% compressor data
mgc.compressor = [
1	2	3	1	1.4	1e30	-{f}	{f}	{p}	{q}	{p}	{q}	1	10	0
];
mgc.regulator = [
];
%% receipt data
mgc.receipt = [
1	1	0	{f}	0	1	1
];
%% delivery data
% id	junction_id	withdrawal_min	withdrawal_max	withdrawal_nominal	is_dispatchable	status
mgc.delivery = [
2	2	{w}	{w}	{w}	0	1
4	4	{w}	{w}	{w}	0	1
40	4	0	{f}	0	1	1
];
"""

_GAS_HEAD = """\
function mgc = 'small'
mgc.gas_molar_mass = 0.0185674;  % kg/mol
mgc.gas_specific_gravity = 0.6411;
mgc.specific_heat_capacity_ratio = 1.2841;
mgc.temperature = 281.15;  % K
mgc.compressibility_factor = 0.8;
mgc.R = 8.314;
mgc.standard_density = 0.7;
"""

# The same network three times: 4 to 8 MPa, 0.762 m, 50 km, 20 kg/s at each delivery, 100 kg/s of supply.
GAS_SI = (
    _GAS_HEAD
    + "mgc.units = 'si';\nmgc.is_per_unit = 0;\n"
    + _GAS_TABLES.format(p="4e6", q="8e6", d="0.762", l="50000", f="100", w="20")
)
GAS_PER_UNIT = (
    _GAS_HEAD
    + "mgc.units = 'si';\nmgc.is_per_unit = 1;\nmgc.base_pressure = 8e6;\nmgc.base_flow = 40;\n"
    + "mgc.base_length = 1000;\n"
    + _GAS_TABLES.format(p="0.5", q="1", d="0.762", l="50", f="2.5", w="0.5")
)
_MMSCFD = 28316.846592 / 86400 * 0.7
GAS_US = (
    _GAS_HEAD
    + "mgc.units = 'usc';\nmgc.is_per_unit = 0;\n"
    + _GAS_TABLES.format(
        p=repr(4e6 / 6894.75729),
        q=repr(8e6 / 6894.75729),
        d="30",
        l=repr(50000 / 1609.344),
        f=repr(100 / _MMSCFD),
        w=repr(20 / _MMSCFD),
    )
)

LINKS = """\
{"it": {"dep": {"delivery_gen": {
  "1": {"delivery": {"id": "40"}, "gen": {"id": "2"},
        "heat_rate_curve_coefficients": [0.0, 50000.0, 0.0], "status": 1},
  "2": {"delivery": {"id": "40"}, "gen": {"id": "4"},
        "heat_rate_curve_coefficients": [0.0, 1.0, 0.0], "status": 0}
}}}}
"""
