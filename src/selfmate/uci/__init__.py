"""The UCI engine: protocol, options, time management."""
