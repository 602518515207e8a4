#!/usr/bin/env bash
# Build native Fairy-Stockfish from the source distribution of `pyffish` on PyPI, which holds the whole engine.
#
#   build_fairy_stockfish.sh FOLDER              both builds below (about four minutes on two cores)
#   build_fairy_stockfish.sh FOLDER --plain      only FOLDER/fairy-stockfish, without its profile (about one minute)
#   build_fairy_stockfish.sh FOLDER --quick      only FOLDER/fairy-stockfish-largeboards (about one minute)
#
#   FOLDER/fairy-stockfish              boards up to 8x8, profile-guided: the fastest we found (the peer at its best)
#   FOLDER/fairy-stockfish-largeboards  -DLARGEBOARDS, as the distribution itself is compiled
# `selfmate ladder --build-engine` calls it, and bench/peers/build_fairy_stockfish.sh for `selfmate bench movegen`.
# Debian's fairy-stockfish 11.1 is no substitute: it silently plays chess when asked for atomic.
#
# Environment: PYTHON (python3), CXX (g++), SELFMATE_PYFFISH_SOURCE (an unpacked source distribution; skips the download).
set -euo pipefail

VERSION=0.0.90
ATOMIC_PERFT_4=197326
[ $# -ge 1 ] || { echo "usage: $0 FOLDER [--plain|--quick]" >&2; exit 2; }
mkdir -p "$1"
build=$(cd "$1" && pwd)
kind=${2:-}
python=${PYTHON:-python3}
cxx=${CXX:-g++}
jobs=$(getconf _NPROCESSORS_ONLN)
trap 'rm -rf "$build"/objects-*' EXIT

# 1. Fetch the sources.
source_tree=${SELFMATE_PYFFISH_SOURCE:-$build/pyffish-$VERSION}
if [ ! -f "$source_tree/src/main.cpp" ]; then
    "$python" -m pip download --quiet --no-deps --no-binary pyffish --dest "$build" "pyffish==$VERSION"
    tar -xzf "$build/pyffish-$VERSION.tar.gz" -C "$build"
fi
cd "$source_tree/src"
sources=$(ls ./*.cpp syzygy/*.cpp nnue/*.cpp nnue/features/*.cpp | grep -v -E '/(pyffish|ffishjs)\.cpp$')

# 2. The flags of the engine's own `make build ARCH=x86-64-bmi2`, tuned for this very machine.
flags="-std=c++17 -O3 -DNDEBUG -w -march=native -DNNUE_EMBEDDING_OFF"
# Optimisation at link time, where compiler and linker have it.
for option in -flto=auto -flto; do
    if echo 'int main() { return 0; }' | "$cxx" "$option" -x c++ -o "$build/objects-link" - 2>/dev/null; then
        flags="$flags $option"
        break
    fi
done
if [ "$(getconf LONG_BIT)" = 64 ]; then flags="$flags -DIS_64BIT"; fi
has() { grep -qw "$1" /proc/cpuinfo 2>/dev/null; }
if has popcnt; then flags="$flags -DUSE_POPCNT -DUSE_SSE2 -DUSE_SSSE3 -DUSE_SSE41"; fi
if has avx2; then flags="$flags -DUSE_AVX2"; fi
if has bmi2; then flags="$flags -DUSE_PEXT"; fi

compile() { # compile NAME FLAGS...: every source to build/objects-NAME, linked to build/NAME
    local name=$1 objects=$build/objects-$1
    shift
    mkdir -p "$objects"
    rm -f "$objects"/*.o
    # shellcheck disable=SC2086
    printf '%s\n' $sources | xargs -P "$jobs" -I{} sh -c \
        "$cxx $flags $* -c {} -o $objects/\$(echo {} | tr -d . | tr / _).o"
    # shellcheck disable=SC2086
    "$cxx" $flags $* "$objects"/*.o -o "$build/$name" -lpthread
}

perft() { # perft ENGINE VARIANT DEPTH: nodes counted
    printf 'setoption name UCI_Variant value %s\nposition startpos\ngo perft %s\nquit\n' "$2" "$3" |
        "$1" | sed -n 's/^Nodes searched: //p'
}

verify() { # an engine that does not know atomic must never be measured as one that does
    local nodes
    nodes=$(perft "$1" atomic 4)
    if [ "$nodes" != "$ATOMIC_PERFT_4" ]; then
        echo "$1: atomic perft 4 is $nodes, expected $ATOMIC_PERFT_4" >&2
        exit 1
    fi
    echo "$1: atomic perft 4 = $nodes"
}

# 3. Only an engine to play against.
if [ "$kind" = "--plain" ]; then
    compile fairy-stockfish
    verify "$build/fairy-stockfish"
    exit 0
fi

# 4. As distributed.
compile fairy-stockfish-largeboards -DLARGEBOARDS -DPRECOMPUTED_MAGICS
verify "$build/fairy-stockfish-largeboards"
[ "$kind" = "--quick" ] && exit 0

# 5. At its best: plain 64-bit boards, trained on its own bench and on perft of both games.
compile fairy-stockfish -fprofile-generate
"$build/fairy-stockfish" bench >/dev/null 2>&1
perft "$build/fairy-stockfish" chess 5 >/dev/null
perft "$build/fairy-stockfish" atomic 5 >/dev/null
compile fairy-stockfish -fprofile-use -fprofile-partial-training
verify "$build/fairy-stockfish"
