"""Wrong usage, wrong files and streams that do not suit are refused in words."""

import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from helpers.commands import TRAIN, process

from streamfs.cli.app import NO_CACHE

NOWHERE = ["--broker", "mqtt://127.0.0.1:1"]
LINKED = {"linked.csv": "pairs.csv", "linked.png": "pairs.csv", "model.csv": "pairs.streamfs"}
USAGE = {
    "nonsense": "There is no command 'nonsense'.",
    "simulate": "Missing argument 'OUT'",
    "simulate x.csv --pairs 0": "0 is not in the range",
    "simulate x.csv --pairs many": "'many' is not a valid integer",
    "simulate x.csv --period nan": "nan is not a finite number",
    "simulate x.csv --period 0": "0.0 is not in the range",
    "simulate none/x.csv": "none/x.csv cannot be written: there is no folder none",
    "simulate .": "File '.' is a directory",
    "train pairs.csv": "Missing option '-o'",
    "train pairs.csv -o .": "File '.' is a directory",
    "train pairs.csv -o none/x": "none/x cannot be written: there is no folder none",
    "train pairs.csv -o x --confidence 2": "2.0 is not in the range 0<x<=1",
    "train pairs.csv -o x --confidence 0": "0.0 is not in the range 0<x<=1",
    "train pairs.csv -o x --confidence nan": "nan is not a finite number",
    "train pairs.csv -o x --time-limit 0": "'0', expected 1 to 1000000 ticks (40), or seconds with an s (600s)",
    "train pairs.csv -o x --time-limit abc": "'abc', expected 1 to",
    "train pairs.csv -o x --time-limit 2.5": "'2.5', expected 1 to",
    "train pairs.csv -o x --time-limit -5s": "'-5s', expected 1 to",
    "train pairs.csv -o x --time-limit nans": "'nans', expected 1 to",
    "train pairs.csv -o x --time-limit 1e99s": "'1e99s', expected 1 to",
    "train pairs.csv -o x --time-limit ''": "'', expected 1 to",
    "train pairs.csv -o x --period -1": "-1.0 is not in the range x>0",
    "train pairs.csv -o x --max-silence 0": "0.0 is not in the range x>0",
    "train pairs.csv -o x --feature 'bogus(a.light)'": "bogus is not a kind of feature, expected one of count,",
    "train pairs.csv -o x --feature mean": "'mean' is not a feature, expected the form kind(column, ...",
    "train pairs.csv -o x --channel a.light@bogus:1": "report policy is 'bogus:1', expected kind:value",
    "train pairs.csv -o x --channel ''": "channel is '', expected a column",
    "train pairs.csv -o x --features none": "'none' is not a valid integer",
    "train pairs.csv -o x --select best": "'best' is not one of 'channels', 'streamrelief'",
    "train pairs.csv -o x --profile radio": "'radio' is not one of 'transmissions', 'heinzelman2000'",
    "train pairs.csv -o x --seed -1": "-1 is not in the range x>=0",
    "train pairs.csv -o x -a -1": "-1.0 is not in the range x>=0",
    "train pairs.csv -o x -b inf": "inf is not a finite number",
    "train pairs.csv -o x --river bogus": "'bogus': No module named",
    "train pairs.csv -o x --river naive_bayes.Bogus": "expected a name such as naive_bayes.GaussianNB",
    "train pairs.csv -o x --river linear_model.LinearRegression": "expected a River classifier",
    "train pairs.csv -o x --river ensemble.BaggingClassifier": "missing 1 required positional argument",
    "train pairs.csv -o x --sklearn bogus": "'bogus': No module named",
    "train pairs.csv -o x --sklearn ensemble.Bogus": "expected a name such as ensemble.RandomForestClassifier",
    "train pairs.csv -o x --sklearn linear_model.LinearRegression": "expected a classifier with fit and",
    "train pairs.csv -o x --sklearn naive_bayes.GaussianNB --river naive_bayes.GaussianNB": "are 2 classifiers",
    "evaluate pairs.streamfs": "Missing argument 'STREAMS...'",
    "evaluate . new.parquet": "File '.' is a directory",
    "evaluate pairs.streamfs new.parquet --sweep abc": "'abc', expected at most 1000 numbers above 0 and up to 1",
    "evaluate pairs.streamfs new.parquet --sweep 0.8,2": "'0.8,2', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.8:0.9:0": "'0.8:0.9:0', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.9:0.8:0.2": "'0.9:0.8:0.2', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.8:inf:0.1": "'0.8:inf:0.1', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.8:0.9:1e-9": "'0.8:0.9:1e-9', expected at most 1000",
    "evaluate pairs.streamfs new.parquet --png none/x.png": "there is no folder none",
    "evaluate pairs.streamfs new.parquet --png x.bogus": "x.bogus ends in '.bogus', expected one of .png, .svg",
    "figure2 --data rooms": "'rooms', expected one of room_climate, room_B, sml2010, appliances, uncg_wsn, or",
    "figure2 --data pairs.csv --noise 2": "--noise is for simulated sensors, and --data names recorded streams",
    "figure2 --seeds 0": "0 is not in the range",
    "figure2 --thresholds 0.8,1.2": "'0.8,1.2', expected at most 1000 numbers above 0 and up to 1",
    "figure2 --noise -1": "-1.0 is not in the range x>=0",
    "figure2 --price light": "'light', expected a quantity and a number of at least 0: light=10",
    "figure2 --price light=-1": "'light=-1', expected a quantity and a number",
    "figure2 --price light=nan": "'light=nan', expected a quantity and a number",
    "figure2 --price =2": "'=2', expected a quantity and a number",
    "figure2 --features 0": "0 is not in the range x>=1",
    "figure2 --n-jobs 0": "0 is not in the range",
    "figure2 --csv none/x.csv": "there is no folder none",
    "train pairs.csv -o pairs.csv": "--out pairs.csv is the file of STREAMS, which it would overwrite",
    "train pairs.csv -o linked.csv": "--out linked.csv is the file of STREAMS",
    "evaluate pairs.streamfs pairs.csv --csv linked.csv": "--csv linked.csv is the file of STREAMS",
    "evaluate pairs.streamfs new.parquet --csv model.csv": "--csv model.csv is the file of MODEL",
    "evaluate pairs.streamfs new.parquet --csv linked.csv --png linked.png": "linked.png is the file of --csv",
    "evaluate pairs.streamfs new.parquet --csv pairs.streamfs": "pairs.streamfs ends in '.streamfs', expected",
    "evaluate pairs.streamfs new.parquet --csv x.txt": "x.txt ends in '.txt', expected .csv",
    "figure2 --csv x.png": "x.png ends in '.png', expected .csv",
    "figure2 --data pairs.csv --csv linked.csv": "--csv linked.csv is the file of --data",
    "figure2 --data pairs.csv --features 3000": "--n-features is 3000, expected 1 to 172",
    "figure2 --price light=1 --price light=2": "--price names light twice: 1 and 2",
    "train pairs.csv -o x --price light=10 --price a=3 --price light=2": "--price names light twice: 10 and 2",
    "train pairs.csv -o x --select none --features 3": "--n-features counts ranked features",
    "train pairs.csv -o x --catalogue full --feature 'mean(a.light)'": "--catalogue needs --channel",
    "train pairs.csv -o x --select relief --extrapolation spline": "--extrapolation is for StreamRelief, and --se",
    "train pairs.csv -o x --extrapolation cubic": "'cubic' is not one of 'linear', 'none', 'spline'",
    "train pairs.csv -o x --catalogue some": "'some' is not one of 'essential', 'full'",
    "figure2 --png x.csv": "x.csv ends in '.csv', expected one of .png",
    "run pairs.streamfs": "Missing option '--broker'",
    "run gateway.toml --broker mqtt://b": "gateway.toml has all settings, and excludes --broker",
    "run pairs.streamfs --broker localhost": "broker is 'localhost', expected mqtt://",
    "run pairs.streamfs --broker mqtt://host:99999": "broker is 'mqtt://host:99999'",
    "run pairs.streamfs --broker http://me:secret@host": "broker is 'http://me:***@host'",
    "run pairs.streamfs --broker mqtt://host --lateness -1": "-1.0 is not in the range x>=0",
    "run pairs.streamfs --broker mqtt://host --idle nan": "nan is not a finite number",
    "run pairs.streamfs --broker mqtt://host --prefix 'a/#'": "'a/#', expected a topic without + and #",
    "run pairs.streamfs --broker mqtt://host --energy-log none/log": "there is no folder none",
    "run pairs.streamfs --broker mqtt://host --pairs p.csv --node n": "--pairs and --node exclude each other",
    "demo --pairs 1": "1 is not in the range x>=2",
    "demo --out pairs.csv": "Directory 'pairs.csv' is a file",
}


@pytest.mark.parametrize("words", USAGE)
def test_wrong_usage_is_refused_before_any_work(command, words):
    for link, path in LINKED.items():
        Path(link).unlink(missing_ok=True)
        Path(link).hardlink_to(path)
    result = command(*shlex.split(words))
    assert (result.code, result.out) == (2, "")
    assert USAGE[words] in result.err
    assert "Traceback" not in result.err


ERRORS = {
    "simulate x.txt --pairs 2 --ticks 2": "x.txt ends in '.txt', expected .csv or .parquet",
    "simulate /proc/x.csv --pairs 2 --ticks 2": "/proc/x.csv: No such file or directory",
    "simulate x.csv --pairs 100000 --ticks 100000": "there is not enough memory: Unable to allocate",
    "train none.csv -o x": "none.csv cannot be read: No such file",
    "train pairs.streamfs -o x": "pairs.streamfs ends in '.streamfs', expected .csv",
    "train pairs.csv -o x --period 2": "several rows at tick 2 of 2 s: keep one of them, "
    "or resample; a model keeps the period of its training; try --resample last --max-age 4",
    "train pairs.csv -o x --period 1e-9": "spans 19,000,000,001 ticks of 1e-09 s",
    "train pairs.csv -o x --feature 'mean(a.lihgt)'": "b.light; did you mean a.light?",
    "train pairs.csv -o x --channel a.lihgt": "column 'a.lihgt' does not exist, expected one of a.temperature",
    "train pairs.csv -o x --features 2 --feature 'mean(a.light)'": "n_features is 2, expected 1 to 1",
    "train pairs.csv -o /proc/x --features 1 --feature 'mean_absolute_difference(a.light, b.light)'": (
        "/proc/x: No such file or directory"
    ),
    "evaluate none.streamfs new.parquet": "none.streamfs cannot be read: No such file",
    "evaluate pairs.csv new.parquet": "pairs.csv is not a streamfs model",
    "evaluate pairs.streamfs none.csv": "none.csv cannot be read: No such file",
    "evaluate pairs.streamfs new.parquet --csv /proc/x.csv": "/proc/x.csv: No such file",
    "figure2 --data none.csv --seeds 1": "none.csv cannot be read: No such file",
    "figure2 --data pairs.csv --seeds 1 --price sound=2": "there is a price of 'sound', expected one of humidity,",
    "replay pairs.streamfs pairs.streamfs": "pairs.streamfs ends in '.streamfs', expected .csv",
    "run none.streamfs --broker mqtt://127.0.0.1:1": "none.streamfs cannot be read: No such file",
    "run bayes.streamfs --broker mqtt://127.0.0.1:1": "--trust",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1": "channels have the roles a and b",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs two.csv": "broker at 127.0.0.1:1 cannot be reached: ",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --energy-log pairs.streamfs": "pairs.streamfs is not an",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --energy-log pairs.csv": "pairs.csv is not an energy log",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --node a/b": "stream is 'a/b', expected a name without",
    "train pairs.csv -o m.streamfs --max-silence 0.1": "max_silence is 0.1 s, expected at least a tick of 1 s",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs none.csv": "none.csv cannot be read",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs pairs.csv": "pairs.csv, line 3: stream 'pair-0000' is",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs pairs.streamfs": "pairs.streamfs cannot be read",
}


@pytest.mark.usefixtures("old_handlers")
@pytest.mark.parametrize("words", ERRORS)
def test_an_error_is_reported_in_a_line(command, words):
    result = command(*shlex.split(words))
    assert result.code == 1
    assert result.out == "" or words.startswith("evaluate")
    last = result.err.splitlines()[-1]
    assert last.startswith("streamfs: ")
    assert ERRORS[words] in last
    assert "Traceback" not in result.err


def test_a_missing_folder_for_compiled_code_is_reported(first_steps, monkeypatch):
    monkeypatch.setenv("STREAMFS_KERNELS", "numba")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")  # and the user provides none
    result = process(first_steps[0], "evaluate", "pairs.streamfs", "new.parquet")
    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines()[-1] == f"streamfs: {NO_CACHE}"


@pytest.mark.usefixtures("old_handlers")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stream,a,b\n", "names no stream"),
        ("", "line 1: header is '', expected stream and then distinct roles"),
        ("stream;a;b\np;x;y\n", "line 1: header is 'stream;a;b', expected stream"),
        ("pair,a,b\np,x,y\n", "line 1: header is 'pair,a,b', expected stream"),
        ("stream,a\np,x\n", "channel 'b.light@delta:40' has role 'b', stream 'p' has a"),
        ("stream,a,b\np,x\n", "line 2: 'p,x' has 2 values, expected 3"),
        ("stream,a,b\np,x/1,y\n", "line 2: node is 'x/1', expected a name without"),
        ("stream,a,b\np,x,y\np,x,z\n", "line 3: stream 'p' is listed twice"),
    ],
)
def test_a_wrong_file_of_pairs_is_refused(command, text, message):
    Path("nodes.csv").write_text(text, encoding="utf-8")
    result = command("run", "pairs.streamfs", *NOWHERE, "--pairs", "nodes.csv")
    assert (result.code, result.out) == (1, "")
    assert message in result.err


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["pairs.streamfs", "bayes.streamfs"])
def test_a_damaged_model_is_refused(command, name, share):
    whole = Path(name).read_bytes()
    place = int(share * len(whole))
    flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    for damaged in (whole[:place], flipped):
        Path("damaged.streamfs").write_bytes(damaged)
        result = command("evaluate", "damaged.streamfs", "new.parquet", "--trust")
        assert (result.code, result.out) == (1, "")
        assert re.match("streamfs: damaged.streamfs (is|has) ", result.err)


UNSUITABLE = {
    "one class": (lambda t: t.with_columns(pl.lit("same").alias("label")), "there is one class only, ['same']"),
    "one stream of a class": (
        lambda t: t.filter(pl.col("stream").is_in(t.unique("label")["stream"].to_list())),
        "has only 1 streams, expected at least",
    ),
    "no readings": (
        lambda t: t.with_columns(pl.lit(None).alias(c) for c in t.columns if "." in c),
        "no stream has a reading in any column of a.temperature, b.temperature",
    ),
    "a column without readings": (
        lambda t: t.with_columns(pl.lit(None).alias("b.light")),
        "has a tick by which all columns of the features are known; b.light has 0 readings in all of them",
    ),
    "constant columns": (
        lambda t: t.with_columns(pl.lit(7).alias(c) for c in t.columns if "." in c),
        "tells the classes apart on 60 streams: record more, or offer other features",
    ),
    "words among numbers": (
        lambda t: t.with_columns(pl.lit("dark").alias("a.light")),
        "a.light of variant.csv is 'dark' in row 1, expected a number",
    ),
    "no rows": (lambda t: t.clear(), "variant.csv has no readings: it has no rows"),
    "no columns": (lambda t: t.select("stream", "time", "label"), "variant.csv has no column of readings"),
    "no label": (lambda t: t.drop("label"), "variant.csv has no column 'label', only stream, time, a.temp"),
}


@pytest.mark.parametrize("change", UNSUITABLE)
def test_unsuitable_streams_are_refused(command, variant, change):
    variant(UNSUITABLE[change][0])
    result = command("train", "variant.csv", "-o", "none.streamfs", *TRAIN[2:])
    assert (result.code, result.out) == (1, "")
    assert UNSUITABLE[change][1] in result.err.splitlines()[-1]
    assert not Path("none.streamfs").exists()


def test_streams_of_other_labels_are_not_evaluated(command, variant):
    variant(lambda table: table.with_columns(pl.col("label").replace("same", "alike")))
    result = command("evaluate", "pairs.streamfs", "variant.csv")
    assert (result.code, result.out) == (1, "")
    assert "label 'alike' is not one of the model's classes different, same: leave its streams out" in result.err


def test_streams_of_other_columns_are_not_replayed(command, variant):
    variant(lambda table: table.drop("b.light"))
    result = command("replay", "pairs.streamfs", "variant.csv")
    assert (result.code, result.out) == (1, "")
    missing = "column 'b.light', which the model reads, is not in variant.csv, only a.temperature"
    assert missing in result.err
    assert missing in command("evaluate", "pairs.streamfs", "variant.csv").err


def test_a_command_accepts_what_an_error_proposes(command):
    for name in ("run", "walk"):
        folder = Path("steps", name)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(8):
            rows = [
                f"{1.7e12 + 1000 * tick + 37 * (tick * number % 5):.0f},{tick % (number + 2)}" for tick in range(9)
            ]
            (folder / f"{number}.csv").write_text("\n".join(["When (ms),x", *rows]), encoding="utf-8")
    refused = command("train", "steps", "-o", "steps.streamfs")
    assert refused.code == 1
    last = refused.err.splitlines()[-1]
    assert last == (
        "streamfs: steps/run/0.csv has no column 'time', only When (ms), x; "
        "try --time 'When (ms)' --labels folder --resample last --max-age 2 --period 1"
    )
    read = command("train", "steps", "-o", "steps.streamfs", *shlex.split(last.partition("; try ")[2]))
    assert "StreamSet(16 streams of up to 9 ticks of 1 s, columns x, labels run 8, walk 8)" in read.err
