// The little that our C++ tests need: a check that says where it failed, a random number, a last line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "position.h"

namespace selfmate::test {

inline long checks = 0;

// Counts, and ends the test with the place and the position at the first failure.
inline void check(bool holds, const char* what, const std::string& where, const char* file, int line) {
    ++checks;
    if (holds) return;
    std::fprintf(stderr, "%s:%d: %s does not hold in %s\n", file, line, what, where.c_str());
    std::exit(1);
}
#define CHECK(condition, where) ::selfmate::test::check((condition), #condition, (where), __FILE__, __LINE__)

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

private:
    std::uint64_t state_;
};

// Walks through random games of a variant and shows every position to `visit`.
template <class Visit>
void random_games(const std::string& variant, int games, std::uint64_t seed, Visit visit) {
    Random random(seed);
    for (int game = 0; game < games; ++game) {
        Position position(variant, std::nullopt, false);
        for (int ply = 0; ply < 200; ++ply) {
            visit(position, random);
            const MoveList moves = position.legal_moves();
            if (!moves.size()) break;
            position.play(moves[random.below(moves.size())]);
        }
    }
}

inline int finish() {
    std::printf("%ld checks hold\n", checks);
    return checks ? 0 : 1;
}

}  // namespace selfmate::test
