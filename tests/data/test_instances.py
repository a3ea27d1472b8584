"""Instances, and the files that hold them."""

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from streamfs.data.described_instances import read_described
from streamfs.data.instances import Instances
from streamfs.errors import DataError

NAN = float("nan")
DATA = os.environ.get("STREAMFS_DATA")
UCI = sorted(Path(DATA, "uci").glob("*.csv")) if DATA else []

CSV = "age,eyes,class\n12,blue,yes\n?,brown,no\n30.5,?,yes\n"
ARFF = """\
% people
@RELATION 'some people'
@attribute age\tREAL
@Attribute 'colour of eyes'  {blue, 'light\\'s brown', "?", green}  % four
@attribute class {no,yes}

@Data
12,blue,yes
% none

?\t,  'light\\'s brown' ,no
3e1 '?' yes % the last
"""


@pytest.fixture
def file(tmp_path):
    """Return a writer of text into a file."""

    def write(text, name="people.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def read(file, text, name="people.csv", **options):
    return Instances.read(file(text, name), **options)


class TestText:
    def test_numbers_texts_and_missing_cells(self, file):
        instances = read(file, CSV)
        assert instances.names == ("age", "eyes")
        assert instances.categories == (None, ("blue", "brown"))
        assert instances.nominal == (1,)
        assert_array_equal(instances.values, [[12, 0], [NAN, 1], [30.5, NAN]])
        assert instances.labels.tolist() == ["yes", "no", "yes"]

    @pytest.mark.parametrize(
        "text",
        [
            CSV.replace(",", "\t"),
            CSV.replace(",", ";"),
            CSV.replace(",", " , "),
            CSV.replace("\n", "\r\n"),
            CSV.replace("\n", "\n\n"),
            CSV.replace("?", '"?"'),
            CSV.replace("?", ""),
            re.sub(r"([a-z]+)", r'"\1"', CSV),
            re.sub(r"([a-z]+)", r'"\1"', CSV).replace(",", ", "),
            "\ufeff" + CSV,
            '% people, "their\n' + CSV + " % that's all",
        ],
    )  # fmt: skip
    def test_other_spellings_of_the_same_file(self, file, text):
        instances, plain = read(file, text, "other.csv"), read(file, CSV)
        assert instances.names == plain.names
        assert instances.categories == plain.categories
        assert_array_equal(instances.values, plain.values)
        assert_array_equal(instances.labels, plain.labels)

    def test_compressed_by_gzip(self, file):
        assert_array_equal(read(file, gzip.compress(CSV.encode(), mtime=0)).values, read(file, CSV).values)

    def test_a_cell_in_quotes_holds_separators(self, file):
        instances = read(file, 'a,"d;e;;;f",class\n1,"x,""y""",no\n')
        assert instances.names == ("a", "d;e;;;f")
        assert instances.categories[1] == ('x,"y"',)

    def test_label_by_name(self, file):
        instances = read(file, CSV.replace("?", "7"), label="eyes")
        assert instances.names == ("age", "class")
        assert instances.labels.tolist() == ["blue", "brown", "7"]

    def test_labels_are_kept_as_written(self, file):
        assert read(file, "x,class\n1,01\n2,1\n").labels.tolist() == ["01", "1"]

    def test_numbers_as_categories(self, file):
        instances = read(file, "code,class\n10,a\n9,b\n?,b\n", nominal=["code"])
        assert instances.categories == (("10", "9"),)
        assert_array_equal(instances.values[:, 0], [0, 1, NAN])

    def test_names_for_a_file_without_a_header(self, file):
        instances = read(file, "1,2,a\n3,4,b\n", names=["x", "y", "class"])
        assert instances.names == ("x", "y")
        assert_array_equal(instances.values, [[1, 2], [3, 4]])

    def test_a_column_without_known_cells_is_numeric(self, file):
        assert read(file, "x,class\n?,a\n,b\n").categories == (None,)

    def test_nan_is_a_missing_number_but_may_be_a_category(self, file):
        instances = read(file, "x,y,class\n1,nan,a\nnan,b,b\n")
        assert instances.categories == (None, ("b", "nan"))
        assert_array_equal(instances.values, [[1, 1], [NAN, 0]])

    def test_a_text_with_underscores_is_not_a_number(self, file):
        assert read(file, "x,class\n1_000,a\n2,b\n").categories == (("1_000", "2"),)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", r"people.csv is empty$"),
            ("\n % nothing\n", r"people.csv is empty$"),
            ("x,class\n", r"people.csv has 0 instances and 2 columns, expected at least 1 and 2"),
            ("class\na\n", r"people.csv has one column, 'class', expected commas, tabs or semicolons between"),
            ("1,2,x\n3,4,y\n", r"people.csv has numbers for names, 1, 2, x: give names= if it has no header"),
            ("x,class\n1,a\n\n1,2,a\n", r"line 4 of .*people.csv has 3 cells, expected 2$"),
            ("x,class\n1,a\n2\n", r"line 3 of .*people.csv has 1 cells, expected 2$"),
            (
                "x,class\n1,a\n2,\n",
                r"line 3 of .*people.csv has an empty cell in column 'class', expected a label",
            ),
            ("x,class\n1,?\n", r"line 2 of .*people.csv has an empty cell in column 'class', expected a label"),
            ("x,class\n1,a\n1e999,b\n", r"x is '1e999' on line 3 of .*people.csv, expected a finite number"),
            ("x,class\n-inf,b\n", r"x is '-inf' on line 2"),
            ('x,class\n1,"a\n2,b\n', r"line 2 of .*people.csv cannot be read: a quote is not closed, or has more"),
            ('x,class\n"1"2,a\n', r"line 2 of .*people.csv cannot be read: a quote is not closed, or has more"),
            ("x,x,class\n1,2,a\n", r"people.csv: column 'x' occurs twice"),
            ("x,,class\n1,2,a\n", r"people.csv: column 2 has the name ''"),
            (b"x,class\n1,a\n2,caf\xe9\n", r"line 3 of .*people.csv is not UTF-8 from b'\\xe9' on"),
            ("x,class\n1,a".encode("utf-16"), r"line 1 of .*people.csv is not UTF-8"),
            ("x,class\n1,a\n\0\0\n", r"line 3 of .*people.csv has a NUL character"),
            (gzip.compress(CSV.encode(), mtime=0)[:-9], r"people.csv cannot be read: it is damaged"),
            (b"\x1f\x8b\x00", r"people.csv cannot be read: "),
        ],
    )
    def test_a_damaged_file_is_refused_by_line(self, file, text, message):
        with pytest.raises(DataError, match=message):
            read(file, text)

    def test_an_unknown_column_is_refused(self, file):
        for options in ({"label": "size"}, {"nominal": ["size"]}):
            with pytest.raises(DataError, match=r"people.csv has no column 'size', only age, eyes, class"):
                read(file, CSV, **options)

    def test_a_missing_file_is_refused(self, tmp_path):
        with pytest.raises(DataError, match=r"none.csv cannot be read: No such file"):
            Instances.read(tmp_path / "none.csv")
        with pytest.raises(DataError, match=r"cannot be read: Is a directory"):
            Instances.read(tmp_path)


class TestArff:
    def test_names_and_values_are_as_declared(self, file):
        for name, text in (("people.arff", ARFF), ("PEOPLE.ARFF.gz", gzip.compress(ARFF.encode()))):
            instances = read(file, text, name)
            assert instances.names == ("age", "colour of eyes")
            assert instances.categories == (None, ("blue", "light's brown", "?", "green"))
            assert_array_equal(instances.values, [[12, 0], [NAN, 1], [30, 2]])
            assert instances.labels.tolist() == ["yes", "no", "yes"]

    def test_label_by_name(self, file):
        instances = read(file, ARFF, "people.arff", label="colour of eyes")
        assert instances.names == ("age", "class")
        assert instances.labels.tolist() == ["blue", "light's brown", "?"]

    def test_a_number_may_be_the_label(self, file):
        text = "@relation r\n@attribute x{a}\n@attribute y integer\n@data\na,1\n?,2\n"
        assert read(file, text, "people.arff").labels.tolist() == ["1", "2"]

    def test_a_declared_range_is_left_alone(self, file):
        text = "@relation r\n@attribute x integer [1,10]\n@attribute y real[0, 1] % c\n@attribute z {a}\n"
        instances = read(file, text + "@data\n3,9,a\n", "people.arff")
        assert instances.categories == (None, None)
        assert instances.values.tolist() == [[3.0, 9.0]]

    def test_spaces_in_quotes_are_kept(self, file):
        text = "@relation r\n@attribute ' x ' numeric\n@attribute y {' a','a '}\n@data\n1,'a '\n2,' a'\n"
        instances = read(file, text, "people.arff")
        assert instances.names == (" x ",)
        assert instances.labels.tolist() == ["a ", " a"]

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("@Data", "", r"line 8 of .*people.arff is '12,blue,yes', expected @relation, @attribute or @data"),
            (ARFF[ARFF.index("@Data") :], "", r"people.arff has no line @data"),
            (ARFF[ARFF.index("12,") :], "", r"people.arff has 0 instances and 3 columns"),
            ("age\tREAL", "", r"line 3 of .*people.arff is '@attribute ', expected @attribute, a name and a type"),
            ("\tREAL", "", r"attribute 'age' on line 3 of .*people.arff is of type '', expected numeric"),
            (
                "REAL",
                "string",
                r"attribute 'age' on line 3 of .*people.arff is of type 'string', expected numeric",
            ),
            ("REAL", "date 'yyyy'", r"attribute 'age' on line 3 .* of type \"date 'yyyy'\""),
            ("REAL", "relational", r"attribute 'age' on line 3 .* of type 'relational'"),
            ("REAL", "{1,2", r"attribute 'age' on line 3 .* of type '{1,2'"),
            ("REAL", "{1,'2}", r"attribute 'age' on line 3 .* of type \"{1,'2}\""),
            ("REAL", "{1,,2}", r"line 3 of .*people.arff cannot be read from ',2' on"),
            ("REAL", "{1,2,1}", r"line 3 of .*people.arff declares the value '1' twice"),
            ("REAL", "{1,2}", r"age is '12' on line 8 of .*people.arff, expected one of 1, 2"),
            ("12,", "twelve,", r"age is 'twelve' on line 8 of .*people.arff, expected a finite number"),
            ("12,", "12,,", r"line 8 of .*people.arff cannot be read from ',blue,yes' on"),
            ("12,blue,yes", "12,blue,", r"line 8 of .*people.arff cannot be read from 'blue,' on"),
            ("12,blue,yes", "12,blue", r"line 8 of .*people.arff has 2 cells, expected 3"),
            (
                "12,blue,yes",
                "12,blue,maybe",
                r"class is 'maybe' on line 8 of .*people.arff, expected one of no, yes",
            ),
            (
                "12,blue,yes",
                "12,blue,?",
                r"line 8 of .*people.arff has an empty cell in column 'class', expected a label",
            ),
            ("12,blue,yes", "{0 12, 2 yes}", r"line 8 of .*people.arff is the sparse row '\{0 12, 2 yes\}'"),
            ("12,blue,yes", "12,blue,yes,{5}", r"line 8 of .*people.arff cannot be read from '\{5\}' on"),
            ("12,blue,yes", "12,'blue,yes", r"line 8 of .*people.arff cannot be read from \"'blue,yes\" on"),
            ("12,blue,yes", "12,'blue'x,yes", r"line 8 of .*people.arff cannot be read from \"'blue'x,yes\" on"),
            ("age", "class", r"people.arff: column 'class' occurs twice"),
        ],
    )
    def test_a_damaged_file_is_refused_by_line(self, file, old, new, message):
        assert old in ARFF
        with pytest.raises(DataError, match=message):
            read(file, ARFF.replace(old, new, 1), "people.arff")

    def test_nominal_and_names_are_refused(self, file):
        for options in ({"nominal": ["age"]}, {"names": ["a", "b", "c"]}):
            with pytest.raises(ValueError, match="nominal or names is given, expected neither"):
                read(file, ARFF, "people.arff", **options)


DESCRIPTION = {
    "class_attribute": "class",
    "class_values_declared": ["no", "yes"],
    "features": [
        {"name": "age", "kind": "numeric"},
        {"name": "eyes", "kind": "nominal", "values": ["green", "brown", "blue"]},
    ],
}


class TestDescribed:
    def read(self, file, text, description):
        file(description if isinstance(description, str) else json.dumps(description), "people.json")
        return read_described(file(text))

    def test_categories_are_as_declared(self, file):
        instances = self.read(file, CSV, DESCRIPTION)
        assert instances.categories == (None, ("green", "brown", "blue"))
        assert_array_equal(instances.values, [[12, 2], [NAN, 1], [30.5, NAN]])

    def test_a_description_next_to_a_compressed_file(self, file):
        file(json.dumps(DESCRIPTION), "people.json")
        packed = file(gzip.compress(CSV.encode(), mtime=0), "people.csv.gz")
        assert read_described(packed).names == ("age", "eyes")

    def test_labels_need_no_declaration(self, file):
        description = {key: value for key, value in DESCRIPTION.items() if key != "class_values_declared"}
        assert self.read(file, CSV, description).labels.tolist() == ["yes", "no", "yes"]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"class_values_declared": ["yes"]}, r"class is 'no' on line 3 of .*people.csv, expected one of yes"),
            ({"class_values_declared": 3}, r"people.json does not describe a label and features"),
            (
                {"class_attribute": "kind"},
                r"column 'class' is in only one of .*people.csv and .*people.json",
            ),
            ({"features": DESCRIPTION["features"][:1]}, r"column 'eyes' is in only one of"),
            ({"features": [{"kind": "numeric"}]}, r"people.json does not describe a label and features: .*name"),
            ({"features": [{"name": "age", "kind": "date"}]}, r"people.json does not describe .*date"),
            ({"features": [{"name": "age", "kind": "nominal"}]}, r"people.json does not describe .*values"),
            ({"features": None}, r"people.json does not describe a label and features"),
        ],
    )
    def test_a_damaged_file_is_refused_by_line(self, file, change, message):
        with pytest.raises(DataError, match=message):
            self.read(file, CSV, DESCRIPTION | change)

    @pytest.mark.parametrize("text", ["", "{", "\ud800".encode("utf-8", "surrogatepass"), b"\xff", "[" * 10**5])
    def test_a_description_that_is_not_json_is_refused(self, file, text):
        file(text, "people.json")
        with pytest.raises(DataError, match=r"people.json is not JSON"):
            read_described(file(CSV))

    def test_a_description_that_is_a_list_is_refused(self, file):
        with pytest.raises(DataError, match=r"people.json does not describe a label and features"):
            self.read(file, CSV, "[1]")

    def test_a_missing_description_is_refused(self, file):
        with pytest.raises(DataError, match=r"people.json cannot be read: No such file"):
            read_described(file(CSV))


@pytest.mark.skipif(not UCI, reason="STREAMFS_DATA is not set, or has no folder uci")
@pytest.mark.parametrize("path", UCI, ids=lambda path: path.stem)
class TestPublicSets:
    def test_counts_are_those_of_the_description(self, path):
        instances, expected = read_described(path), json.loads(path.with_suffix(".json").read_text("utf-8"))
        assert instances.values.shape == (expected["instances"], expected["n_features"])
        assert instances.names == tuple(feature["name"] for feature in expected["features"])
        assert len(instances.nominal) == expected["n_nominal"]
        assert np.isnan(instances.values).sum() == expected["missing_cells"]
        labels, counts = np.unique(instances.labels, return_counts=True)
        assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == expected["class_counts"]

    def test_the_text_alone_gives_the_same_instances(self, path):
        described, plain = read_described(path), Instances.read(path)
        assert_array_equal(plain.labels, described.labels)
        for one, other, kind, declared in zip(
            plain.values.T, described.values.T, plain.categories, described.categories, strict=True
        ):
            if kind is None and declared is None:
                assert_array_equal(one, other)
            elif kind is not None:
                known = ~np.isnan(one)
                assert [kind[int(code)] for code in one[known]] == [declared[int(code)] for code in other[known]]


class TestDamage:
    """Any damage to a file leaves it readable or leads to a DataError."""

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
    @given(
        original=st.sampled_from([("people.csv", CSV), ("people.arff", ARFF)]),
        places=st.lists(st.integers(0, 400), min_size=1, max_size=4),
        junk=st.lists(
            st.sampled_from([b"", b'"', b"'", b",", b"\n", b"{", b"}", b"%", b"\\", b"\xff", b"\0", b"?", b"@"])
            | st.binary(max_size=3),
            min_size=4,
            max_size=4,
        ),
        end=st.integers(0, 600),
    )
    def test_no_other_error(self, tmp_path, original, places, junk, end):
        name, text = original
        content = text.encode()
        for place, piece in zip(places, junk, strict=False):
            content = content[:place] + piece + content[place + len(piece) :]
        path = tmp_path / name
        path.write_bytes(content[:end])
        try:
            instances = Instances.read(path)
        except DataError as error:
            assert name in str(error)  # noqa: PT017
        else:
            assert instances.values.shape == (len(instances.labels), len(instances.names))


class TestArguments:
    @pytest.mark.parametrize(
        ("values", "names", "categories", "message"),
        [
            ([[1.0]], ("x", "y"), (None,) * 2, r"values have shape \(1, 1\), expected 1 labels, 2 names"),
            ([[1.0], [2.0]], ("x",), (None,), r"values have shape \(2, 1\), expected 1 labels, 1 names"),
            ([[1.0]], ("x",), (), r"categories are \(\), expected 1, one per feature"),
            ([[1.0, 2.0]], ("x", "x"), (None,) * 2, "feature 'x' occurs twice"),
            ([[np.inf]], ("x",), (None,), "feature 'x' is inf, expected a finite number"),
            ([[2.0]], ("x",), (("a", "b"),), "feature 'x' is 2, expected a code below 2"),
            ([[0.5]], ("x",), (("a", "b"),), "feature 'x' is 0.5, expected a code below 2"),
            ([[-1.0]], ("x",), (("a", "b"),), "feature 'x' is -1, expected a code below 2"),
        ],
    )
    def test_arguments_that_do_not_match_are_refused(self, values, names, categories, message):
        with pytest.raises(DataError, match=message):
            Instances(np.array(values), np.array(["a"]), names, categories)

    def test_what_a_mask_hides_is_missing(self):
        values = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])
        assert_array_equal(np.asarray(Instances(values, ["a"], ["x", "y"], [None, None]).values), [[NAN, 2.0]])

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"values": None}, r"values have shape \(\), expected 2 labels, 1 names"),
            ({"values": [["x"], [1.0]]}, "expected real numbers, and one is 'x'"),
            ({"labels": None}, r"labels have shape \(\), expected \(1,\)"),
            ({"labels": ["a", None]}, "the label of instance 2 is None: leave out instances without one"),
            ({"names": 5}, "names of features are 5, expected several texts"),
            ({"names": [None]}, "feature 1 has the name None, expected a text"),
            ({"categories": None}, "categories are None, expected 1, one per feature"),
            (
                {"categories": ["ab"]},
                "categories of feature 'x' are 'ab', expected its values, each once, or None",
            ),
            (
                {"categories": [("a", "a")]},
                r"categories of feature 'x' are \('a', 'a'\), expected its values, each",
            ),
        ],
    )
    def test_arguments_of_other_types_are_refused(self, changed, message):
        given = {"values": [[0.0], [1.0]], "labels": ["a", "b"], "names": ["x"], "categories": [None]}
        assert Instances(**given).values.shape == (2, 1)
        with pytest.raises(DataError, match=message):
            Instances(**given | changed)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"label": ["class"]}, r"label is \['class'\], expected the name of a column"),
            ({"label": np.array(["age", "class"])}, r"label is array\(.*, expected the name of a column"),
            ({"label": 3}, "has no column '3', only age, eyes, class"),
            ({"nominal": "age"}, "nominal is 'age', expected the names of some columns, each once"),
            ({"nominal": 5}, "nominal is 5, expected the names of some columns, each once"),
            ({"label": "Class"}, "has no column 'Class', only age, eyes, class; did you mean class\\?"),
            (
                {"names": ["age", "eyes", "class"]},
                "has names in line 1, age, eyes, class: leave out names=",
            ),
            ({"names": "age"}, "names is 'age', expected the names of some columns, each once"),
            ({"names": [["age"]] * 3}, r"names is \[\['age'\], .*, expected the names of some columns, each once"),
        ],
    )
    def test_other_arguments_of_a_file_are_refused(self, file, given, message):
        with pytest.raises(DataError, match=message):
            Instances.read(file(CSV), **given)

    def test_columns_that_are_named_may_be_called_by_numbers(self, file):
        assert Instances.read(file("5,a\n6,b\n"), names=range(2), nominal=np.array(["0"])).categories == (
            ("5", "6"),
        )
        numbered = "@relation r\n@attribute 1 real\n@attribute 2 real\n@attribute 3 {a}\n@data\n5,6,a\n"
        assert Instances.read(file(numbered, "people.arff")).names == ("1", "2")

    def test_a_first_row_may_be_the_numbers_that_columns_are_called_by(self, file):
        assert Instances.read(file("0,1\n2,a\n"), names=range(2)).labels.tolist() == ["1", "a"]

    @pytest.mark.parametrize("read", [Instances.read, read_described])
    def test_what_is_no_path_is_refused(self, read):
        with pytest.raises(TypeError, match="path is None, expected the path of a file"):
            read(None)
        with pytest.raises(DataError, match="cannot be read: Is a directory"):
            read("")
