"""Searches that are broken off, and go on."""

import numpy as np
import pytest
from low_promises import kept

from streamfs import StreamSet
from streamfs.errors import DataError
from streamfs.training.promises import Promise
from streamfs.training.promises.held_out import HeldOut


@pytest.fixture(scope="module")
def scores(streams, tmp_path_factory):
    """What a search by C4.5 has written."""
    path = tmp_path_factory.mktemp("scores") / "search.jsonl"
    kept(streams, classifier="c45", resume=path)
    return path.read_bytes()


class TestGoingOn:
    def counted(self, monkeypatch):
        """Count the curves that are computed."""
        asked = []

        def curves(held, chosen, starts, compute=HeldOut.curves):
            asked.append(tuple(chosen))
            return compute(held, chosen, starts)

        monkeypatch.setattr(HeldOut, "curves", curves)
        return asked

    def test_a_finished_search_is_not_scored_again(self, streams, tmp_path, monkeypatch):
        asked, path = self.counted(monkeypatch), tmp_path / "search.jsonl"
        first = kept(streams, classifier="c45", resume=path)
        n_first, written = len(asked), path.read_bytes()
        again = kept(streams, classifier="c45", resume=path, n_jobs=2)
        assert again.digest == first.digest
        assert again.about == first.about
        assert path.read_bytes() == written
        assert 2 * n_first - len(asked) == first.about["promise"]["subsets"] == written.count(b"\n")

    @pytest.mark.parametrize("n_lines", [0, 1, 3])
    def test_a_search_that_was_stopped_goes_the_same_way(self, streams, tmp_path, n_lines):
        path = tmp_path / "search.jsonl"
        first = kept(streams, classifier="c45", resume=path)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:n_lines]) + lines[n_lines][:-9])
        assert kept(streams, classifier="c45", resume=path).digest == first.digest
        assert path.read_bytes().splitlines(keepends=True) == lines

    @pytest.mark.parametrize(
        "other",
        [
            {"seed": 1},
            {"promise": Promise(0.8, 0.8, 0.2)},
            {"time_limit": 9},
            {"min_leaf": 3},
            {"prices": {"level": 2.0}},
            {"profile": "esp32_wifi"},
            {"groups": np.arange(160) // 2},
            {"max_silence": 5.0},
            {"classifier": "extra-trees"},
            {"max_cost": 1e6},
            {"streams": "columns"},
            {"streams": "period"},
            {"streams": "lengths"},
            {"streams": "labels"},
        ],
        ids=str,
    )
    def test_scores_of_another_problem_do_not_count(self, streams, scores, tmp_path, other, monkeypatch):
        path, options = tmp_path / "search.jsonl", {"classifier": "c45", **other}
        path.write_bytes(scores)
        values, labels, columns = streams.values, streams.labels, streams.columns
        changed = {
            "columns": (values, labels, [columns[1], columns[0], *columns[2:]]),
            "period": (values, labels, columns, 2.0),
            "lengths": (values, labels, columns, 1.0, None, np.full(160, 9)),
            "labels": (values, np.roll(labels, 1), columns),
            None: (values, labels, columns),
        }
        asked = self.counted(monkeypatch)
        kept(StreamSet(*changed[options.pop("streams", None)]), resume=path, **options)
        assert path.read_bytes().startswith(scores)
        assert path.read_bytes().count(b"\n") - scores.count(b"\n") > 3
        assert len(asked) > 3

    def test_scores_of_another_version_do_not_count(self, plan, monkeypatch):
        before = plan._digest()
        assert plan._digest() == before
        monkeypatch.setattr("streamfs.training.promises.problem.SCORES_VERSION", 0)
        assert plan._digest() != before

    def test_another_file_is_not_written_over(self, streams, tmp_path):
        path = tmp_path / "mine.json"
        path.write_bytes(b'{"my": "data"}')
        with pytest.raises(DataError, match=r"line 1 of .*mine\.json"):
            kept(streams, resume=path)
        assert path.read_bytes() == b'{"my": "data"}'
