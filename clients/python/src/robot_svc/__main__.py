"""``python -m robot_svc verify FILE``: verifies a bundle, an archive or a promise."""

import io
import sys

from . import verify


def main() -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.argv[1:2] != ["verify"]:
        print("usage: python -m robot_svc verify FILE …", file=sys.stderr)
        return 2
    return verify.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
