"""The run directory: file formats, atomic commits, packed copies."""
