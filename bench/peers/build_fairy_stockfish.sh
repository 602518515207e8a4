#!/usr/bin/env bash
# Build native Fairy-Stockfish, the peer that `selfmate bench movegen` measures atomic against, into bench/peers/build.
# `--quick` builds only the plain large-board one. The work is done by the script that comes with the package.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec bash "$here/../../src/selfmate/ladder/data/build_fairy_stockfish.sh" "$here/build" "$@"
