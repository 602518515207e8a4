"""The studio: play, study and training in the browser, from one local server."""
