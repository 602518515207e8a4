#include "data/encode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "util/random.h"

namespace selfmate {
namespace {

constexpr int KNIGHT_PLANES = 8;
constexpr int NO_PLANE = 255;
constexpr int STEPS[8][2] = {{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}};
constexpr int JUMPS[8][2] = {{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}};

int reach(const Variant& variant) { return variant.files - 1; }  // boards are square
int first_promotion_plane(const Variant& variant) { return 8 * reach(variant) + KNIGHT_PLANES; }

// The plane of every move but underpromotions, by [from * 64 + to], for one size of board.
std::array<std::uint8_t, 64 * 64> planes_for(int reach) {
    std::array<std::uint8_t, 64 * 64> planes;
    planes.fill(NO_PLANE);
    for (Square from = 0; from < 64; ++from)
        for (int i = 0; i < 8; ++i) {
            const auto set = [&](int files, int ranks, int plane) {
                const int file = file_of(from) + files, rank = rank_of(from) + ranks;
                if (file >= 0 && file < 8 && rank >= 0 && rank < 8)
                    planes[static_cast<std::size_t>(from * 64 + make_square(file, rank))] =
                        static_cast<std::uint8_t>(plane);
            };
            for (int distance = 1; distance <= reach; ++distance)
                set(STEPS[i][0] * distance, STEPS[i][1] * distance, i * reach + distance - 1);
            set(JUMPS[i][0], JUMPS[i][1], 8 * reach + i);
        }
    return planes;
}
const std::array<std::uint8_t, 64 * 64> PLANES_8 = planes_for(7);
const std::array<std::uint8_t, 64 * 64> PLANES_5 = planes_for(4);

// The squares of a rank as floats, by the bits of the rank.
struct RankFloats {
    float of[256][8];

    constexpr RankFloats() : of() {
        for (int bits = 0; bits < 256; ++bits)
            for (int file = 0; file < 8; ++file) of[bits][file] = static_cast<float>(bits >> file & 1);
    }
};
constexpr RankFloats RANK_FLOATS;

// A constant number of files becomes one or two vector stores per rank.
template <int FILES>
void write_squares(int ranks, Bitboard bits, float* out) {
    for (int rank = 0; rank < ranks; ++rank, bits >>= 8, out += FILES)
        std::memcpy(out, RANK_FLOATS.of[bits & 0xff], FILES * sizeof(float));
}

Square seen_by(const Variant& variant, Square square, Color turn) {
    return turn == WHITE ? square : make_square(file_of(square), variant.ranks - 1 - rank_of(square));
}

Bitboard seen_by(const Variant& variant, Color turn, Bitboard squares) {
    return turn == WHITE ? squares : __builtin_bswap64(squares) >> (8 * (8 - variant.ranks));
}

int mirrored_plane(const Variant& variant, int plane) {
    const int queen_planes = 8 * reach(variant), promotions = first_promotion_plane(variant);
    if (plane < queen_planes) return (8 - plane / reach(variant)) % 8 * reach(variant) + plane % reach(variant);
    if (plane < promotions) return queen_planes + 7 - (plane - queen_planes);
    const int kind = (plane - promotions) / 3, direction = (plane - promotions) % 3;
    return promotions + 3 * kind + 2 - direction;
}

}  // namespace

Encoding encoding_of(const Variant& variant) {
    const int squares = variant.files * variant.ranks;
    const int planes = first_promotion_plane(variant) + 3 * static_cast<int>(variant.promotions.size() - 1);
    return {.variant = variant.name,
            .files = variant.files,
            .ranks = variant.ranks,
            .squares = squares,
            .planes = planes,
            .policy_size = planes * squares,
            .max_moves = squares == 64 ? 256 : 128};
}

void encode(const Variant& variant, const State& state, bool repeated, Bitboard* bits, float* scalars) {
    const Color us = state.turn;
    for (int role = PAWN; role <= KING; ++role) {
        bits[role - 1] = seen_by(variant, us, state.of(us, Role(role)));
        bits[role + 5] = seen_by(variant, us, state.of(~us, Role(role)));
    }
    bits[12] = seen_by(variant, us, state.castling & state.of(us));
    bits[13] = seen_by(variant, us, state.castling & state.of(~us));
    bits[14] = state.ep_square == NO_SQUARE ? 0 : seen_by(variant, us, bit(state.ep_square));
    bits[15] = repeated ? variant.board : 0;
    scalars[0] = static_cast<float>(state.halfmove_clock) / 100;
    const auto checks_to_win = static_cast<float>(std::max(variant.checks_to_win, 1));
    scalars[1] = static_cast<float>(state.checks_left[us]) / checks_to_win;
    scalars[2] = static_cast<float>(state.checks_left[~us]) / checks_to_win;
    scalars[3] = variant.colors_differ && us == BLACK ? 1.0f : 0.0f;
}

void write_planes(const Variant& variant, const Bitboard* bits, const float* scalars, float* planes) {
    const int squares = variant.files * variant.ranks;
    for (int i = 0; i < BITBOARDS; ++i, planes += squares)
        if (variant.files == 8)
            write_squares<8>(variant.ranks, bits[i], planes);
        else
            write_squares<5>(variant.ranks, bits[i], planes);
    for (int i = 0; i < SCALARS; ++i, planes += squares) std::fill(planes, planes + squares, scalars[i]);
}

Key encoded_key(const State& state, bool repeated) {
    return state.key ^ mix(2 * std::uint64_t(state.halfmove_clock) + repeated);
}

std::uint16_t move_index(const Variant& variant, Move move, Color turn) {
    const Square from = seen_by(variant, move.from(), turn), to = seen_by(variant, move.to(), turn);
    int plane;
    if (move.promotion() == NO_ROLE || move.promotion() == QUEEN) {
        plane = (variant.files == 8 ? PLANES_8 : PLANES_5)[static_cast<std::size_t>(from * 64 + to)];
    } else {
        const int kind = move.promotion() == KING ? 3 : move.promotion() - KNIGHT;
        plane = first_promotion_plane(variant) + 3 * kind + file_of(to) - file_of(from) + 1;
    }
    const int square = rank_of(from) * variant.files + file_of(from);
    return static_cast<std::uint16_t>(plane * variant.files * variant.ranks + square);
}

std::vector<std::string> move_plane_names(const Variant& variant) {
    std::vector<std::string> names;
    const auto add = [&](int files, int ranks) {
        names.push_back(std::to_string(files) + "," + std::to_string(ranks));
    };
    for (const auto& step : STEPS)
        for (int distance = 1; distance <= reach(variant); ++distance) add(step[0] * distance, step[1] * distance);
    for (const auto& jump : JUMPS) add(jump[0], jump[1]);
    return names;
}

void write_mask(const Encoding& encoding, std::span<const std::uint16_t> indices, std::uint8_t* mask) {
    std::memset(mask, 0, static_cast<std::size_t>(encoding.policy_size));
    for (const std::uint16_t index : indices) mask[index] = 1;
}

Bitboard mirror(const Variant& variant, Bitboard squares) {
    squares = (squares >> 1 & 0x5555555555555555) | (squares & 0x5555555555555555) << 1;
    squares = (squares >> 2 & 0x3333333333333333) | (squares & 0x3333333333333333) << 2;
    squares = (squares >> 4 & 0x0f0f0f0f0f0f0f0f) | (squares & 0x0f0f0f0f0f0f0f0f) << 4;
    return squares >> (8 - variant.files);
}

std::uint16_t mirror_index(const Variant& variant, std::uint16_t index) {
    const int squares = variant.files * variant.ranks;
    const int plane = index / squares, square = index % squares;
    const int file = variant.files - 1 - square % variant.files;
    const int mirrored = square / variant.files * variant.files + file;
    return static_cast<std::uint16_t>(mirrored_plane(variant, plane) * squares + mirrored);
}

}  // namespace selfmate
