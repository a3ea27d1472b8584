"""What a job refuses: models that would differ from shard to shard, and a folder of another job."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.procedures import mean_procedure
from helpers.sample_history import procedure
from helpers.zones import ALONE
from river.naive_bayes import GaussianNB

from streamfs.classifiers import OnlineClassifier
from streamfs.cluster.jobs import Deciding, Following, settle
from streamfs.errors import ModelError, StateError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import Options


def test_a_model_that_goes_on_training_is_refused_by_either_job():
    learner = OnlineClassifier(GaussianNB(), ["mean(x)"], ["off", "on"])
    learner.learn(np.array([[0.0], [2.0]]), ["off", "on"])
    packed = replace(mean_procedure(), classifier=learner).packed
    with pytest.raises(ModelError, match="goes on training while it serves: each shard"):
        Deciding(packed, 2, trust=True)
    with pytest.raises(ModelError, match="goes on training while it serves: each shard"):
        Following.of(packed, 2, Bindings.single(("x",)), Options(), 0.0, trust=True)


def test_a_folder_goes_on_with_the_same_job_only(tmp_path):
    packed, bindings = ALONE.first.packed, Bindings.single(ALONE.first.channels)
    jobs = [
        Deciding(procedure().packed, 2, 1.0),
        Deciding(procedure().packed, 2, 2.0),
        Following.of(packed, 2, bindings, Options(), 0.0),
        Following.of(packed, 2, bindings, Options(prefix="other"), 0.0),
    ]
    for number, job in enumerate(jobs):
        settle(tmp_path / str(number), job.to_json())
        settle(tmp_path / str(number), job.to_json())
        for other in jobs[:number]:
            with pytest.raises(StateError, match="give another folder"):
                settle(tmp_path / str(number), other.to_json())
