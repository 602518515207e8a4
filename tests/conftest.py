"""What every test may rely on."""

import signal

from hypothesis import settings

# A shell starts background jobs with Ctrl-C ignored, and children inherit that; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test fails because the machine is busy.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
