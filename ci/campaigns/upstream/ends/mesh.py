"""The end of a file: a program of a mesh that runs PROGRAMS."""


def program(mesh: Mesh):
    results = {}
    for name, function in PROGRAMS.items():
        try:
            results[name] = jax.device_get(function(mesh))
        except Exception as error:
            results[name] = f"raises {type(error).__name__}"
    return results
