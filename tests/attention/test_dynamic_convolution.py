"""DynamicConvolutionAttention: what the contract cannot know about it."""

import math

import numpy as np
from contract import ProjectedAttentionContract
from reference import convolve

from keras_attention import DynamicConvolutionAttention

KERNELS = (
    "query_kernel",
    "filter_kernel",
    "location_filters",
    "location_kernel",
    "dynamic_kernel",
    "score_vector",
)


def drawn(k, count, alpha, beta):
    """P(k) of Polya's urn: each draw puts one more of its kind back."""
    chance = math.comb(count, k) * 1.0
    for i in range(count):
        kind = alpha + i if i < k else beta + i - k
        chance *= kind / (alpha + beta + i)
    return chance


class TestDynamicConvolutionAttention(ProjectedAttentionContract):
    layer_class = DynamicConvolutionAttention
    init_kwargs = {
        "units": 4,
        "static_filters": 2,
        "dynamic_filters": 3,
        "kernel_size": 4,
        "prior_length": 3,
        "prior_alpha": 0.5,
        "prior_beta": 0.9,
    }
    kernel_names = KERNELS

    def reference_weights(self, query, key, mask, real, w):
        a = np.eye(len(real))[real.argmax()] * real.any()
        chances = [drawn(k, 2, 0.5, 0.9) for k in range(3)]
        every = []
        for q, seen in zip(query, mask, strict=True):
            made = np.tanh(q @ w["query_kernel"] + w["query_bias"])
            dynamic = (made @ w["filter_kernel"]).reshape(4, 3)
            hidden = (
                convolve(a, w["location_filters"]) @ w["location_kernel"]
                + convolve(a, dynamic) @ w["dynamic_kernel"]
                + w["bias"]
            )
            prior = [
                sum(chances[k] * a[j - k] for k in range(3) if j >= k)
                for j in range(len(a))
            ]
            scores = np.tanh(hidden) @ w["score_vector"]
            e = np.exp(scores) * np.maximum(prior, 1e-6) * seen
            a = e / max(e.sum(), 1e-300)
            every.append(a)
        return np.array(every)
