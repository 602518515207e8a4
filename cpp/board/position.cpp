#include "board/position.h"

#include <algorithm>

#include "util/error.h"

namespace selfmate {
namespace {

constexpr std::size_t MAX_UCI = 8;

void play_null(State& state) {
    if (state.ep_square != NO_SQUARE) state.key ^= ZOBRIST.en_passant[file_of(state.ep_square)];
    state.ep_square = NO_SQUARE;
    ++state.halfmove_clock;
    state.fullmove_number = static_cast<std::uint16_t>(state.fullmove_number + (state.turn == BLACK));
    state.turn = ~state.turn;
    state.key ^= ZOBRIST.black_to_move;
}

}  // namespace

std::vector<std::string> variant_names() {
    std::vector<std::string> names;
    for (const Variant& variant : variants()) names.emplace_back(variant.name);
    for (const Variant& variant : variants())
        if (variant.shuffled) names.push_back(std::string(variant.name) + "960");
    return names;
}

VariantName resolve_variant(std::string_view name) {
    if (const Variant* variant = find_variant(name)) return {variant, false};
    if (name.ends_with("960")) {
        const Variant* variant = find_variant(name.substr(0, name.size() - 3));
        if (variant && variant->shuffled) return {variant, true};
    }
    std::string known;
    for (const std::string& each : variant_names()) known += (known.empty() ? "" : ", ") + each;
    throw Error("UnknownVariant", "unknown variant " + in_quotes(name) + "; valid variants: " + known,
                name.substr(0, 40));
}

Position::Position(std::string_view variant_name, std::optional<std::string_view> fen, bool lenient)
    : variant_(nullptr), chess960_(false) {
    const VariantName name = resolve_variant(variant_name);
    variant_ = name.variant;
    chess960_ = name.chess960;
    state_ = validate(parse_fen(*variant_, chess960_, fen.value_or(variant_->start), lenient), lenient);
}

Position::Position(const Setup& setup, bool lenient)
    : variant_(setup.variant), chess960_(setup.chess960), state_(validate(setup, lenient)) {}

MoveList Position::legal_moves() const {
    MoveList moves;
    variant_->legal_moves(state_, moves);
    return moves;
}

bool Position::is_legal(Move move) const {
    const MoveList moves = legal_moves();
    return std::find(moves.begin(), moves.end(), move) != moves.end();
}

void Position::play(Move legal_move) {
    past_.push_back(state_);
    keys_.push_back(state_.key);
    moves_.push_back(legal_move);
    if (legal_move.is_null())
        play_null(state_);
    else
        variant_->play(state_, legal_move);
}

Move Position::undo() {
    const Move move = moves_.back();
    state_ = past_.back();
    moves_.pop_back();
    keys_.pop_back();
    past_.pop_back();
    return move;
}

bool Position::is_en_passant(Move move) const {
    return move.to() == state_.ep_square && contains(state_.of(PAWN), move.from()) &&
           file_of(move.from()) != file_of(move.to());
}

bool Position::is_capture(Move move) const {
    return !move.is_null() && (contains(state_.of(~state_.turn), move.to()) || is_en_passant(move));
}

std::string write_move(Move move) {
    if (move.is_null()) return "0000";
    std::string uci = square_name(move.from()) + square_name(move.to());
    if (move.promotion() != NO_ROLE) uci += ROLE_LETTERS[move.promotion()];
    return uci;
}

Move parse_move(std::string_view uci) {
    const auto square = [&](std::size_t i) {
        const int file = uci[i] - 'a', rank = uci[i + 1] - '1';
        return file >= 0 && file < 8 && rank >= 0 && rank < 8 ? make_square(file, rank) : NO_SQUARE;
    };
    if (uci.size() <= MAX_UCI && (uci.size() == 4 || uci.size() == 5)) {
        const Square from = square(0), to = square(2);
        const Role promotion = uci.size() == 5 ? role_of(uci[4]) : NO_ROLE;
        const bool promotes_well = uci.size() == 4 || (promotion != NO_ROLE && promotion != PAWN);
        if (from != NO_SQUARE && to != NO_SQUARE && from != to && promotes_well) return Move(from, to, promotion);
    }
    throw Error("InvalidMove", in_quotes(uci) + " is not a move like e2e4 or a7a8q", uci.substr(0, 40));
}

std::string Position::uci(Move move) const {
    if (chess960_ || !is_castling(move)) return write_move(move);
    return write_move(Move(move.from(), make_square(move.to() > move.from() ? 6 : 2, rank_of(move.from()))));
}

Move Position::parse_uci(std::string_view uci) const { return normalise(parse_move(uci)); }

Move Position::playable(Move move) const {
    return move.is_null() && !variant_->has_ended(state_) && !checkers() ? move : normalise(move);
}

Move normalise(const Variant& variant, bool chess960, const State& state, Move move) {
    MoveList moves;
    variant.legal_moves(state, moves);
    if (std::find(moves.begin(), moves.end(), move) != moves.end()) return move;

    // A king move to the g- or c-file means castling towards that side.
    const Square from = move.from(), to = move.to();
    if (contains(state.of(state.turn, KING), from) && rank_of(from) == rank_of(to) && move.promotion() == NO_ROLE)
        for (const Move legal : moves)
            if (legal.from() == from && is_castling(state, legal) && (legal.to() > from) == (to > from) &&
                file_of(to) == (to > from ? 6 : 2))
                return legal;

    // Find the reason for the message.
    std::string why;
    if (move.is_null())
        why = "no side may pass in check, nor after the end";
    else if (!((variant.board >> from) & (variant.board >> to) & 1))
        why = "it leaves the board";
    else if (variant.has_ended(state))
        why = "the game is over";
    else if (!contains(state.occupied(), from))
        why = "no piece stands on " + square_name(from);
    else if (!contains(state.of(state.turn), from))
        why = "the piece on " + square_name(from) + " belongs to the other side";
    else if (std::any_of(moves.begin(), moves.end(),
                         [&](Move legal) { return legal.from() == from && legal.to() == to; }))
        why = move.promotion() == NO_ROLE ? "say what the pawn becomes, as in " + write_move(Move(from, to, QUEEN))
                                          : "it cannot become that piece";
    else
        why = "that piece cannot go there now";
    const std::string fen = write_fen(variant, state, chess960 ? Castling::SHREDDER : Castling::X_FEN);
    throw Error("IllegalMove", write_move(move) + " is not legal: " + why + " (" + fen + ")", write_move(move));
}

int repetitions(const State& state, std::span<const Key> past) {
    int seen = 1;
    const std::size_t reach = std::min<std::size_t>(state.halfmove_clock, past.size());
    for (std::size_t back = 4; back <= reach; back += 2) seen += past[past.size() - back] == state.key;
    return seen;
}

std::optional<Outcome> outcome(const Variant& variant, const State& state, std::span<const Key> past, bool claim_draw) {
    // 1. The variant's own end, then no legal moves: a win takes precedence over every draw.
    if (variant.has_ended(state)) return variant.ending(state);
    std::optional<Outcome> stuck;
    if (!variant.count_moves(state)) stuck = variant.without_moves(state, variant.checkers(state, state.turn));
    if (stuck && stuck->winner != Winner::NONE) return stuck;
    // 2. Automatic draws.
    const auto draw = [](Termination termination) { return Outcome{termination, Winner::NONE}; };
    if (variant.cannot_win(state, WHITE) && variant.cannot_win(state, BLACK))
        return draw(Termination::INSUFFICIENT_MATERIAL);
    if (stuck) return stuck;
    if (state.halfmove_clock >= 150) return draw(Termination::SEVENTYFIVE_MOVES);
    const int seen = repetitions(state, past);
    if (seen >= 5) return draw(Termination::FIVEFOLD_REPETITION);
    // 3. Draws that must be claimed.
    if (claim_draw && state.halfmove_clock >= 100) return draw(Termination::FIFTY_MOVES);
    if (claim_draw && seen >= 3) return draw(Termination::THREEFOLD_REPETITION);
    return std::nullopt;
}

std::string Position::text_board() const {
    std::string text;
    for (int rank = variant_->ranks - 1; rank >= 0; --rank) {
        for (int file = 0; file < variant_->files; ++file) {
            const Square square = make_square(file, rank);
            const Role role = state_.role_at(square);
            if (file) text += ' ';
            text += role == NO_ROLE ? '.' : piece_letter(state_.color_at(square), role);
        }
        if (rank) text += '\n';
    }
    return text;
}

}  // namespace selfmate
