"""`marey doctor`: what is installed, what is missing, and where files are kept."""

from marey.cli._run import Output, command


@command(reports="marey, python, cores, packages, extras, data, downloads, compiled_code")
def doctor() -> Output:
    """What is installed, what is missing, and where files are kept.

    Examples:
        marey doctor
        marey doctor --json
    """
    from marey import installation

    return Output(report=installation.doctor(), timed=False)
