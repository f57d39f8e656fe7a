"""One file per command; tito.cli loads each when it is called."""
