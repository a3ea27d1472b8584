"""A network of PyTorch as a `streamfs.classifiers.ProbabilisticModel`, calibrated, and under a promise."""

import numpy as np
import torch

from streamfs import Promise, StreamSet, evaluate, train, train_promised


class Network:
    """Two layers on the features, the undefined ones as 0."""

    def fit(self, X, y):  # noqa: ANN001, ANN201, D102
        self.classes_, places = np.unique(y, return_inverse=True)
        torch.manual_seed(0)
        first, last = torch.nn.Linear(X.shape[1], 16), torch.nn.Linear(16, len(self.classes_))
        self.layers = torch.nn.Sequential(first, torch.nn.ReLU(), last)
        descent = torch.optim.Adam(self.layers.parameters(), lr=0.02)
        for _ in range(200):
            descent.zero_grad()
            torch.nn.functional.cross_entropy(self.layers(tensor(X)), torch.tensor(places)).backward()
            descent.step()

    def predict_proba(self, X):  # noqa: ANN001, ANN201, D102
        with torch.no_grad():
            return torch.softmax(self.layers(tensor(X)), dim=1).numpy()


def tensor(X: np.ndarray) -> torch.Tensor:
    """Return rows as a tensor."""
    return torch.tensor(np.nan_to_num(X), dtype=torch.float32)


rng, labels = np.random.default_rng(0), np.repeat(["calm", "busy"], 60)
streams = StreamSet(rng.normal(2.0 * (labels == "busy")[:, None, None], 1.0, (120, 12, 1)), labels, ["noise"])
options = {"features": ["mean(noise)", "last(noise)"], "classifier": Network()}
for procedure in (train(streams, **options), train_promised(streams, Promise(0.8), **options, n_jobs=1)):
    print(procedure.classifier.describe(), evaluate(procedure, streams).summary())
