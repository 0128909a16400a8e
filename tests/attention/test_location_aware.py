"""LocationAwareAttention: what the contract cannot know about it."""

import numpy as np
import pytest
from contract import ProjectedAttentionContract
from reference import convolve

from keras_attention import LocationAwareAttention

KERNELS = (
    "query_kernel",
    "key_kernel",
    "score_vector",
    "location_filters",
    "location_kernel",
)


class LocationAwareCase(ProjectedAttentionContract):
    layer_class = LocationAwareAttention
    kernel_names = KERNELS
    cumulative = False

    def reference_weights(self, query, key, mask, real, w):
        a, every = real / max(real.sum(), 1), []
        filters = w["location_filters"][:, 0]
        for q, seen in zip(query, mask, strict=True):
            hidden = (
                q @ w["query_kernel"]
                + key @ w["key_kernel"]
                + convolve(a, filters) @ w["location_kernel"]
                + w["bias"]
            )
            e = np.exp(np.tanh(hidden) @ w["score_vector"]) * seen
            every.append(e / max(e.sum(), 1e-300))
            a = a + every[-1] if self.cumulative else every[-1]
        return np.array(every)


class TestLocationAwareAttention(LocationAwareCase):
    init_kwargs = {"units": 4, "filters": 2, "kernel_size": 3}


@pytest.mark.variant
class TestLocationAwareAttentionOverTheSum(LocationAwareCase):
    init_kwargs = {
        "units": 4,
        "filters": 2,
        "kernel_size": 4,
        "cumulative": True,
    }
    cumulative = True
