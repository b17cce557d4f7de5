"""The end of a file: a program of a strategy that runs PROGRAMS."""


def plain(value):
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return np.asarray(value)


def program(strategy: tf.distribute.Strategy):
    results = {}
    for name, function in PROGRAMS.items():
        try:
            results[name] = plain(function(strategy))
        except Exception as error:
            results[name] = f"raises {type(error).__name__}"
    return results
