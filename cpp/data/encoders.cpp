#include "data/encoders.h"

#include <algorithm>
#include <iterator>

#include "util/random.h"

namespace selfmate {
namespace {

struct EncoderShape {
    std::string_view name;
    Encoder encoder;
    int bitboards, scalars;  // of a history of one position
};
constexpr EncoderShape ENCODERS[] = {
    {"full", Encoder::FULL, BITBOARDS, SCALARS}, {"pieces12", Encoder::PIECES12, 12, 0},
    {"pieces13", Encoder::PIECES13, 13, 0},      {"planes16", Encoder::PLANES16, 14, 2},
    {"planes18", Encoder::PLANES18, 18, 0},      {"planes21", Encoder::PLANES21, 18, 3},
    {"planes19", Encoder::PLANES19, 17, 2},
};
struct PolicyName {
    std::string_view name;
    Policy policy;
};
constexpr PolicyName POLICIES[] = {
    {"planes", Policy::PLANES}, {"fromto", Policy::FROMTO}, {"fromto_queen", Policy::FROMTO_QUEEN}};

constexpr float CAP = 100;  // of counters: moves of a game, plies without a capture or pawn move

float counter(int number) { return static_cast<float>(std::min(static_cast<float>(number), CAP)) / CAP; }

int plies_of(const State& state) { return 2 * (state.fullmove_number - 1) + (state.turn == BLACK); }

Bitboard flipped(const Variant& variant, Bitboard squares) {
    return __builtin_bswap64(squares) >> (8 * (8 - variant.ranks));
}

// The piece planes of a position, those of `first` before the other side's; `flip`: seen by Black.
void write_pieces(const Variant& variant, const State& state, Color first, bool flip, Bitboard* bits) {
    for (int role = PAWN; role <= KING; ++role) {
        const Bitboard ours = state.of(first, Role(role)), theirs = state.of(~first, Role(role));
        bits[role - 1] = flip ? flipped(variant, ours) : ours;
        bits[role + 5] = flip ? flipped(variant, theirs) : theirs;
    }
}

// All squares, or none, for the rights of White on the king's and the queen's side, then Black's.
void write_castling(const Variant& variant, const State& state, Bitboard* bits) {
    for (const Color color : {WHITE, BLACK})
        for (const bool king_side : {true, false}) {
            bool allowed = false;
            for (Bitboard rooks = state.castling & state.of(color); rooks;)
                allowed |= (file_of(take_first(rooks)) > file_of(state.king(color))) == king_side;
            *bits++ = allowed ? variant.board : 0;
        }
}

// What an encoder has beyond the piece planes of the present position.
void write_rest(Encoder encoder, const Variant& variant, const State& state, bool repeated, Bitboard* bits,
                float* scalars) {
    const Bitboard if_white = state.turn == WHITE ? variant.board : 0;
    const float moves = counter(state.fullmove_number), clock = counter(state.halfmove_clock);
    switch (encoder) {
        case Encoder::FULL:
        case Encoder::PIECES12:
            break;
        case Encoder::PIECES13:
            bits[12] = if_white;
            break;
        case Encoder::PLANES16:
            bits[12] = variant.board ^ if_white;
            bits[13] = repeated ? variant.board : 0;
            scalars[0] = moves;
            scalars[1] = clock;
            break;
        case Encoder::PLANES18:
        case Encoder::PLANES21:
        case Encoder::PLANES19:
            bits[12] = if_white;
            write_castling(variant, state, bits + 13);
            if (encoder == Encoder::PLANES19) {
                scalars[0] = moves;
                scalars[1] = clock;
                break;
            }
            bits[17] = state.ep_square == NO_SQUARE
                           ? 0
                           : (Bitboard(0x0101010101010101) << file_of(state.ep_square)) & variant.board;
            if (encoder == Encoder::PLANES18) break;
            scalars[0] = clock;
            scalars[1] = repeated ? 1.0f : 0.0f;
            scalars[2] = static_cast<float>(plies_of(state) % static_cast<int>(CAP)) / CAP;
            break;
    }
}

// The square a1, b1, … on a board of this size.
int square_number(const Variant& variant, Square square) { return rank_of(square) * variant.files + file_of(square); }

}  // namespace

std::optional<Encoding> encoding_of(const Variant& variant, std::string_view encoder, std::string_view policy,
                                    int history) {
    const auto* const shape = std::ranges::find(ENCODERS, encoder, &EncoderShape::name);
    const auto* const space = std::ranges::find(POLICIES, policy, &PolicyName::name);
    if (shape == std::end(ENCODERS) || space == std::end(POLICIES) || history < 1 || history > MAX_HISTORY)
        return std::nullopt;
    Encoding found = encoding_of(variant);
    found.encoder = shape->encoder;
    found.policy = space->policy;
    found.history = history;
    found.bitboards = shape->bitboards + PIECE_PLANES * (history - 1);
    found.scalars = shape->scalars;
    if (found.policy != Policy::PLANES) {
        const int underpromotions = 3 * static_cast<int>(variant.promotions.size() - 1);
        found.planes = found.squares + (found.policy == Policy::FROMTO ? underpromotions : 0);
        found.policy_size = found.planes * found.squares;
    }
    return found;
}

std::string_view name_of(Encoder encoder) { return std::ranges::find(ENCODERS, encoder, &EncoderShape::encoder)->name; }
std::string_view name_of(Policy policy) { return std::ranges::find(POLICIES, policy, &PolicyName::policy)->name; }

void encode(const Encoding& encoding, const Variant& variant, const State& state, bool repeated,
            std::span<const State> past, Bitboard* bits, float* scalars) {
    if (encoding.encoder == Encoder::FULL) {
        encode(variant, state, repeated, bits, scalars);
    } else {
        const bool by_white = encoding.seen_by_white();
        write_pieces(variant, state, by_white ? WHITE : state.turn, !by_white && state.turn == BLACK, bits);
        write_rest(encoding.encoder, variant, state, repeated, bits, scalars);
    }
    // Earlier positions, the last one first.
    Bitboard* earlier = bits + (encoding.bitboards - PIECE_PLANES * (encoding.history - 1));
    for (std::size_t back = 1; back < static_cast<std::size_t>(encoding.history); ++back, earlier += PIECE_PLANES)
        if (back <= past.size()) {
            const bool by_white = encoding.seen_by_white();
            write_pieces(variant, past[past.size() - back], by_white ? WHITE : state.turn,
                         !by_white && state.turn == BLACK, earlier);
        } else {
            std::fill_n(earlier, PIECE_PLANES, Bitboard(0));
        }
}

Key encoded_key(const Encoding& encoding, const State& state, bool repeated, std::span<const State> past) {
    Key key = encoded_key(state, repeated);
    if (encoding.is_default()) return key;
    if (encoding.counts_moves()) key = mix(key ^ static_cast<Key>(plies_of(state)));
    // Positions with colours exchanged may have equal keys, but not equal planes.
    if (encoding.seen_by_white() && state.turn == BLACK) key = ~key;
    // Mixed before the next key is added: the keys of two positions in a row differ by the last move alone.
    for (std::size_t back = 1; back < static_cast<std::size_t>(encoding.history); ++back)
        key = mix(mix(key) ^ (back <= past.size() ? past[past.size() - back].key : 0));
    return key;
}

std::uint16_t move_index(const Encoding& encoding, const Variant& variant, Move move, Color turn) {
    const Color seen_by = encoding.seen_by_white() ? WHITE : turn;
    const std::uint16_t index = move_index(variant, move, seen_by);
    if (encoding.policy == Policy::PLANES) return index;
    const int from = index % encoding.squares;
    const bool promotes = move.promotion() != NO_ROLE && move.promotion() != QUEEN;
    int plane;
    if (promotes && encoding.policy == Policy::FROMTO) {
        const int first = encoding_of(variant).planes - 3 * static_cast<int>(variant.promotions.size() - 1);
        plane = encoding.squares + index / encoding.squares - first;
    } else {
        const Square to =
            seen_by == WHITE ? move.to() : make_square(file_of(move.to()), variant.ranks - 1 - rank_of(move.to()));
        plane = square_number(variant, to);
    }
    return static_cast<std::uint16_t>(plane * encoding.squares + from);
}

std::uint16_t mirror_index(const Encoding& encoding, const Variant& variant, std::uint16_t index) {
    if (encoding.policy == Policy::PLANES) return mirror_index(variant, index);
    const auto mirrored = [&](int square) {
        return square / variant.files * variant.files + variant.files - 1 - square % variant.files;
    };
    const int plane = index / encoding.squares, from = mirrored(index % encoding.squares);
    const int extra = plane - encoding.squares;  // an underpromotion: kind, then direction
    const int to = extra < 0 ? mirrored(plane) : encoding.squares + extra / 3 * 3 + 2 - extra % 3;
    return static_cast<std::uint16_t>(to * encoding.squares + from);
}

std::vector<std::string> plane_names(const Encoding& encoding, const Variant& variant) {
    std::vector<std::string> names;
    // 1. Moves by direction and distance, or by to-square
    if (encoding.policy == Policy::PLANES) {
        names = move_plane_names(variant);
    } else {
        const std::string board = " of " + std::to_string(encoding.files) + "x" + std::to_string(encoding.ranks);
        for (int square = 0; square < encoding.squares; ++square)
            names.push_back("to " + std::to_string(square) + board);
    }
    // 2. Underpromotions
    if (encoding.policy != Policy::FROMTO_QUEEN)
        for (const Role role : {KNIGHT, BISHOP, ROOK, KING})
            for (int files = -1; files <= 1 && std::ssize(names) < encoding.planes; ++files)
                names.push_back(std::string("=") + piece_letter(BLACK, role) + " " + std::to_string(files));
    return names;
}

}  // namespace selfmate
