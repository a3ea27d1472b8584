"""Text names of features: meaning, canonical form, and errors."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import feature_extractors as fx
from feature_extractors import moments, order, pair, pair_window, spectral
from feature_extractors.base import Feature, Kind, Parameter
from feature_extractors.catalogue import DEFAULT_WINDOW, ESSENTIAL, KINDS, canonical
from feature_extractors.checks import check_name_round_trips
from feature_extractors.report import Policy, split_channel

PLAIN_COLUMNS = st.text(st.sampled_from("abc.xyz_-019é°µ="), min_size=1)
AWKWARD_COLUMNS = st.text(st.sampled_from('a.(),;@" \t\n='), min_size=1)
ANY_CHARACTER = st.integers(0, 0x10FFFF).map(chr)  # st.characters is slow at first, while it builds its tables
COLUMNS = st.one_of(PLAIN_COLUMNS, AWKWARD_COLUMNS, st.lists(ANY_CHARACTER, min_size=1).map("".join))
POLICIES = st.one_of(
    st.just(Policy()),
    st.builds(Policy, st.sampled_from(["every", "mean"]), st.integers(1, 10**6).map(float)),
    st.builds(Policy, st.sampled_from(["flag", "delta", "quantised"]), st.floats(1e-9, 1e300)),
)


def quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def channels() -> st.SearchStrategy[str]:
    """Channels in any allowed spelling, including unnecessary quotes."""
    policies = POLICIES.map(lambda policy: f"@{policy.name}" if policy.name else "")
    spelt = st.one_of(PLAIN_COLUMNS, COLUMNS.map(quoted))
    return st.tuples(spelt, policies).map("".join)


def values(parameter: Parameter) -> st.SearchStrategy[float]:
    low, high = max(parameter.low, -1e300), min(parameter.high, 1e300)
    return st.integers(int(low), int(high)).map(float) if parameter.whole else st.floats(low, high)


@st.composite
def features(draw: st.DrawFn) -> Feature:
    kind = draw(st.sampled_from(KINDS))
    columns = tuple(canonical(draw(channels())) for _ in range(kind.n_columns))
    return Feature(kind, columns, {p.name: draw(values(p)) for p in kind.parameters})


@given(feature=features())
def test_any_name_round_trips(feature: Feature) -> None:
    check_name_round_trips(feature)


@given(column=COLUMNS, policy=POLICIES)
def test_any_channel_is_split_into_column_and_policy(column: str, policy: Policy) -> None:
    text = f"{quoted(column)}@{policy.name}" if policy.name else quoted(column)
    assert split_channel(text) == (column, policy)
    assert split_channel(canonical(text)) == (column, policy)
    assert canonical(canonical(text)) == canonical(text)


@given(spellings=st.lists(channels(), min_size=2, max_size=2))
def test_columns_of_a_name_are_its_channels(spellings: list[str]) -> None:
    feature = fx.get(f" correlation ( {spellings[0]} ,{spellings[1]} ) ")
    assert [split_channel(c) for c in feature.columns] == [split_channel(c) for c in spellings]


@given(
    columns=st.lists(COLUMNS.map(quoted), min_size=1, max_size=4, unique=True),
    kinds=st.sampled_from([KINDS, ESSENTIAL]),
)
def test_catalogued_names_round_trip(columns: list[str], kinds: Sequence[Kind]) -> None:
    catalogued = fx.catalogue(columns, kinds)
    for feature in catalogued:
        check_name_round_trips(feature)
    assert len({feature.name for feature in catalogued}) == len(catalogued)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("count()", "count()"),
        (" count ( ) ", "count()"),
        ("count(;)", "count()"),
        ("mean( a.light )", "mean(a.light)"),
        ("correlation(a,b)", "correlation(a, b)"),
        ("correlation(a,a)", "correlation(a, a)"),
        ("mean(a;window=32.0)", "mean(a; window=32)"),
        ("mean(a ; window = 3.2e1 )", "mean(a; window=32)"),
        ("exponential_mean(a)", "exponential_mean(a; alpha=0.1)"),
        ("exponential_mean(a; alpha=1)", "exponential_mean(a; alpha=1)"),
        ("flag_agreement(a, b; threshold=-0)", "flag_agreement(a, b; threshold=0)"),
        ("quantile(a)", "quantile(a; q=0.5)"),
        ("quantile(a; window=8)", "quantile(a; q=0.5, window=8)"),
        ("quantile(a; window=8, q=0.25)", "quantile(a; q=0.25, window=8)"),
        ("autocorrelation(a; window=8, lag=2)", "autocorrelation(a; lag=2, window=8)"),
        ("band_power(a; cycle=5.50)", "band_power(a; cycle=5.5)"),
        ("mean(a@delta:0.50)", "mean(a@delta:0.5)"),
        ("mean(a@every:1)", "mean(a)"),
        ('mean("a")', "mean(a)"),
        ('last("inlet north"@flag:3)', 'last("inlet north"@flag:3)'),
        ('last("a,b")', 'last("a,b")'),
        ('last("5"" pipe")', 'last("5"" pipe")'),
        ('correlation("x@y", "(z;)")', 'correlation("x@y", "(z;)")'),
    ],
)
def test_canonical_form(text: str, name: str) -> None:
    assert fx.get(text).name == name
    assert str(fx.get(name)) == name


def test_a_window_selects_another_kind() -> None:
    assert fx.get("mean(a; window=4)").kind is moments.WINDOWED_MEAN
    assert fx.get("mean(a)") != fx.get("mean(a; window=4)") != fx.get("mean(a; window=5)")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("quantile(a)", order.QUANTILE),
        ("quantile(a; q=0.1)", order.QUANTILE),
        ("quantile(a; window=8)", order.WINDOWED_QUANTILE),
        ("quantile(a; q=0.1, window=8)", order.WINDOWED_QUANTILE),
        ("autocorrelation(a; window=8)", spectral.WINDOWED_AUTOCORRELATION),
        ("flag_agreement(a, b)", pair.FLAG_AGREEMENT),
        ("flag_agreement(a, b; hysteresis=1)", pair.STEADY_FLAG_AGREEMENT),
        ("flag_agreement(a, b; window=8)", pair_window.WINDOWED_FLAG_AGREEMENT),
    ],
)
def test_a_kind_is_chosen_by_its_parameters(text: str, kind: Kind) -> None:
    assert fx.get(text).kind is kind
    assert fx.get(text, KINDS[::-1]).kind is kind


def test_no_two_kinds_take_the_same_parameters() -> None:
    forms = [(kind.name, *sorted(parameter.name for parameter in kind.parameters)) for kind in KINDS]
    assert len(set(forms)) == len(forms)


def test_state_size_follows_the_window() -> None:
    small, large = fx.get("variance(a; window=10)"), fx.get("variance(a; window=110)")
    assert large.state_size - small.state_size == 500


def test_other_kinds_may_be_passed() -> None:
    mine = KINDS[1].__class__("mine", 1, KINDS[1].step, KINDS[1].state_size)
    assert fx.get("mine(a)", [mine]) == Feature(mine, ("a",))
    with pytest.raises(ValueError, match="mean is not a kind of feature, expected one of mine"):
        fx.get("mean(a)", [mine])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("median(a)", "median is not a kind of feature, expected one of count, last, mean, .*flag_agreement"),
        ("mean()", "mean reads 1 columns, got 0"),
        ("mean(a, b)", "mean reads 1 columns, got 2: a, b"),
        ("count(a)", "count reads 0 columns, got 1: a"),
        ("correlation(a)", "correlation reads 2 columns, got 1: a"),
        ("mean(a; width=3)", "mean has no parameter 'width'"),
        ("mean(a; window=3, alpha=1)", "mean has no parameter "),
        ("mean(a; window=3, window=4)", "window occurs twice in 'mean.a; window=3, window=4.'"),
        ("mean(a; window=1)", r"window is 1\.0, expected a number from 2 to 1e\+06"),
        ("mean(a; window=1000001)", r"window is 1000001\.0, expected a number from 2 to 1e\+06"),
        ("mean(a; window=2.5)", r"window is 2\.5, expected a whole number"),
        ("exponential_mean(a; alpha=0)", r"alpha is 0\.0, expected a number from 1e-09 to 1"),
        ("exponential_mean(a; alpha=1.00000001)", r"alpha is 1\.00000001, expected a number from"),
        ("quantile(a; q=1)", r"q is 1\.0, expected a number from 0\.001 to 0\.999"),
        ("autocorrelation(a; lag=0)", r"lag is 0\.0, expected a number from 1 to 10000"),
        ("band_power(a; cycle=1.9)", r"cycle is 1\.9, expected a number from 2 to 1e\+06"),
        ("pattern_max(a; kernel=84, dilation=1)", r"kernel is 84\.0, expected a number from 0 to 83"),
        ("pattern_max(a; kernel=2.5, dilation=1)", r"kernel is 2\.5, expected a whole number"),
        ("pattern_max(a; kernel=2, dilation=0)", r"dilation is 0\.0, expected a number from 1 to 1250"),
        ("pattern_max(a; kernel=2)", "pattern_max needs a value of dilation"),
        ("pattern_max(a; kernel=2, dilation=1, bias=0)", "pattern_max has no parameter 'bias'"),
        ("pattern_share(a; kernel=2, dilation=1)", "pattern_share needs a value of bias"),
        ("pattern_share(a; kernel=2, dilation=1, bias=inf)", "bias is inf, expected a number from -inf to inf"),
        ("quantile(a; window=8, hysteresis=1)", "quantile has no parameter 'hysteresis'"),
        ("flag_agreement(a, b; threshold=nan)", "threshold is nan, expected a number from -inf to inf"),
        ("flag_agreement(a, b; threshold=inf)", "threshold is inf, expected a number from -inf to inf"),
        ("mean(a; window=many)", "window is 'many' in .*, expected a number"),
        ("mean(a; window)", "'window' in .* is not a parameter, expected the form parameter=value"),
        ("mean(a; window=3; window=4)", "'window=3; window=4' in .* is not a parameter, expected the form"),
        ("mean(a; window=3,)", "'' in .* is not a parameter, expected the form parameter=value"),
        ("mean(a@sometimes:3)", "report policy .*sometimes"),
        ("mean(a@delta:-1)", "report policy is 'delta:-1'.*-1.0, expected at least 0"),
        ('mean("")', "channel is '\"\"', expected a column"),
    ],
)
def test_a_wrong_name_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fx.get(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mean",
        "mean(a",
        "mean a)",
        "mean(a))",
        "mean(a b)",
        "mean(a,)",
        "mean(,a)",
        "mean(a@)",
        "(a)",
        "mean(@delta:1)",
        "two words(a)",
        'mean("a)',
        'mean("a"b)',
        'mean(a"b)',
    ],
)
def test_a_text_that_is_not_a_name_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="is not a feature, expected the form kind") as error:
        fx.get(text)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("mean(flow (l/s))", 'mean("flow (l/s)")'),
        ("mean(pressure [bar]; window=8)", 'mean("pressure [bar]"; window=8)'),
    ],
)
def test_a_column_that_needs_quotes_is_shown_with_them(text: str, quoted: str) -> None:
    with pytest.raises(ValueError, match="are quoted: ") as error:
        fx.get(text)
    assert str(error.value).endswith(quoted)
    assert fx.get(quoted).columns


def test_a_parameter_without_default_must_be_given() -> None:
    with pytest.raises(ValueError, match="mean needs a value of window"):
        Feature(moments.WINDOWED_MEAN, ("a",))


def test_pairs_in_the_catalogue_are_of_one_quantity_and_policy() -> None:
    columns = ["a.light", "b.light", "a.sound", "b.sound@delta:1"]
    pairs = {feature.columns for feature in fx.catalogue(columns) if len(feature.columns) == 2}
    assert pairs == {("a.light", "b.light")}


def test_columns_without_roles_pair_under_policies_of_one_kind() -> None:
    columns = ["warm", "warm@delta:0.5", "damp", "damp@delta:2", "damp@flag:40", "warm@flag:20"]
    pairs = {feature.columns for feature in fx.catalogue(columns) if len(feature.columns) == 2}
    assert pairs == {("warm", "damp"), ("warm@delta:0.5", "damp@delta:2"), ("damp@flag:40", "warm@flag:20")}


def test_differences_are_of_one_quantity() -> None:
    alike, unlike = (
        {feature.kind.name for feature in fx.catalogue(columns) if len(feature.columns) == 2}
        for columns in (["a.warm", "b.warm"], ["warm", "damp"])
    )
    assert {name for name in alike if "difference" in name} == alike - unlike != set()
    assert {"correlation", "increment_correlation", "regression_slope"} <= unlike < alike


def test_flags_get_only_features_informative_about_flags() -> None:
    kinds = {feature.kind.name for feature in fx.catalogue(["a@flag:3", "b@flag:3"])}
    assert kinds == {"count", "last", "mean", "sign_runs", "flag_agreement"}
    assert "flag_agreement" not in {feature.kind.name for feature in fx.catalogue(["a", "b"])}


def test_numbers_get_every_other_kind() -> None:
    listed = [feature.kind for feature in fx.catalogue(["a.x", "b.x"])]
    named = {kind: {parameter.name for parameter in kind.parameters} for kind in KINDS}
    of_their_own = {kind for kind, names in named.items() if names & {"kernel", "lowest"}}
    assert set(listed) == {kind for kind in KINDS if kind.name != "flag_agreement"} - of_their_own
    assert len(of_their_own) == 4 + 1
    assert listed.count(moments.COUNT) == 1
    essential = [feature.name for feature in fx.catalogue(["a.x", "b.x"], ESSENTIAL)]
    assert essential[:4] == ["count()", "last(a.x)", "mean(a.x)", "variance(a.x)"]
    assert essential[-1] == "mean_signed_difference(a.x, b.x)"
    assert len(essential) == 1 + 2 * 10 + 5


def test_windows_in_the_catalogue_have_the_default_length() -> None:
    windows = {feature.params["window"] for feature in fx.catalogue(["a"]) if "window" in feature.params}
    assert windows == {DEFAULT_WINDOW}


def test_a_string_in_place_of_a_feature_is_refused():
    with pytest.raises(TypeError, match=r"feature is 'mean\(x\)'"):
        fx.scan(["mean(x)"], [[[1.0]]])
    with pytest.raises(TypeError, match="columns are 'ab'"):
        fx.Feature(fx.get("correlation(a, b)").kind, "ab")


def test_the_list_of_features_names_every_kind() -> None:
    """Each name in docs/features.md is a feature, with a window if the table says so; no kind is missing."""
    listed = set()
    rows = (Path(__file__).parents[2] / "docs" / "features.md").read_text(encoding="utf-8").splitlines()
    for row in rows:
        names, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        for name in re.findall(r"`(\w+\([^`]*\))`", names) if row.startswith("| `") else ():
            feature = fx.get(name)
            listed.add((feature.kind.name, *feature.params))
            if cells[0] == "yes":
                windowed = name[:-1] + (", " if ";" in name else "; ") + "window=16)"
                listed.add((feature.kind.name, *fx.get(windowed).params))
    assert listed == {(kind.name, *(p.name for p in kind.parameters)) for kind in KINDS}
