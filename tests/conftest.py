"""What every test may rely on."""

import signal

# A shell starts background jobs with Ctrl-C ignored, and children inherit that; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
