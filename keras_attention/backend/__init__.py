"""Fast paths, and the one place where a backend is named for compute."""
