// Shared by the C++ tests: CHECK, random games, and the last line of output.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "board/position.h"
#include "util/random.h"

namespace selfmate::test {

// Sanitizers are about ten times slower: divide the number of games.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int SHARE = 6;
#else
constexpr int SHARE = 1;
#endif

inline std::atomic<long> checks = 0;  // atomic: CHECK is used by several threads

// Counts a check; prints its location and `where`, and exits, at the first failure.
inline void check(bool holds, const char* what, const std::string& where, const char* file, int line) {
    ++checks;
    if (holds) return;
    std::fprintf(stderr, "%s:%d: %s does not hold in %s\n", file, line, what, where.c_str());
    std::exit(1);
}
#define CHECK(condition, where) ::selfmate::test::check((condition), #condition, (where), __FILE__, __LINE__)

// Plays random games of a variant and calls visit(position, random) at every position.
template <class Visit>
void random_games(const std::string& variant, int games, std::uint64_t seed, Visit visit) {
    Random random(seed);
    for (int game = 0; game < games; ++game) {
        Position position(variant, std::nullopt, false);
        for (int ply = 0; ply < 200; ++ply) {
            visit(position, random);
            const MoveList moves = position.legal_moves();
            if (!moves.size()) break;
            position.play(moves[random.below(static_cast<std::uint32_t>(moves.size()))]);
        }
    }
}

inline int finish() {
    std::printf("%ld checks hold\n", checks.load());
    return checks ? 0 : 1;
}

}  // namespace selfmate::test
