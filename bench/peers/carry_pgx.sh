#!/usr/bin/env bash
# Fetch pgx, mctx and the pure Python packages that they import into a folder that can be carried to a machine
# without a network. jax, jaxlib and numpy (with jax's own ml_dtypes, opt_einsum and scipy) must be there already.
#
#   bench/peers/carry_pgx.sh [FOLDER]        (.carry/pgx, which git ignores; about 4 MiB)
#   PYTHONPATH=.carry/pgx python bench/peers/pgx_mctx.py
#
# Environment: PYTHON (python3), any with pip: nothing is compiled, and nothing depends on its version.
set -euo pipefail

folder=${1:-$(cd "$(dirname "$0")/../.." && pwd)/.carry/pgx}
packages=(pgx==2.6.0 mctx==0.0.71 chex==0.1.92 absl-py==2.5.1 toolz==1.2.0 typing_extensions==4.16.0 svgwrite==1.4.3)

rm -rf "$folder"
mkdir -p "$folder"
"${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile \
    --only-binary :all: --target "$folder" "${packages[@]}"
rm -rf "$folder/bin" "$folder/tests" "$folder/mctx/_src/tests"
if find "$folder" -name '*.so' | grep -q .; then
    echo "carry_pgx.sh: $folder holds compiled code; only pure Python may be carried" >&2
    exit 1
fi
du -sh "$folder"
