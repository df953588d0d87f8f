"""Other physics engines, each in an environment of its own, driven through pipes; see `process` and `driver`."""
