"""How OpenBLAS, which multiplies NumPy's matrices, is to work.

It reads the environment when NumPy is loaded: who wants the full speed imports tinytorch before numpy.
"""

import os


def set_up():
    """Set what the user has not set."""
    # Its threads spin while they wait for the next product, by default 2^26 ticks of the clock, some 20 ms,
    # and take a core from everything else; 2^16 are some 20 us
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    # AMD's family 25 has no AVX-512, or (Zen 4) does it in two halves: for float32 OpenBLAS's AVX2 kernels
    # are 3-20 % faster there than its AVX-512 kernels, which it takes by itself
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            processor = file.read(100)                 # of the first core: there may be hundreds
    except OSError:                                    # another system, or a sandbox
        return
    if "AuthenticAMD\ncpu family\t: 25\n" in processor:
        os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
