"""`python -m envcheck` is the same program as the command `envcheck`."""

from envcheck.cli.main import entry

if __name__ == "__main__":
    entry()
