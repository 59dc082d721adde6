"""The command line: arguments, progress and printing, no logic.

Linear algebra has one thread unless the user says otherwise: work is shared by our own (`_work`), and for
matrices of a body's size waking others takes longer than the product. NumPy reads this when it is imported.
"""

import os

for _library in ("OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
