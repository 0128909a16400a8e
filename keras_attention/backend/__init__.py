"""Fast paths of each backend: the only place that imports one for compute."""
