"""The classroom: experiments that are small enough to know the exact answer (`selfmate lab`)."""
