"""The command line of the course: it exports, tests and hands out the modules."""
