"""`python -m weir.ctl` is `weirctl`."""

from .main import run

if __name__ == "__main__":
    run()
