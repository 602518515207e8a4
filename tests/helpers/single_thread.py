"""Variables for numpy and torch, to be imported before them: one thread for their linear algebra.

Their threads spin while they wait, and the workers of pytest use all cores already. Processes that tests start inherit
the variables; a number of threads that is given as an argument still counts.
"""

import os

__all__: list[str] = []

for _name, _value in {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"}.items():
    os.environ.setdefault(_name, _value)
