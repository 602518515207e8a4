#include "board/fen.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "util/error.h"

namespace selfmate {
namespace {

constexpr std::size_t MAX_FEN = 512;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char to_lower(char c) { return is_upper(c) ? char(c - 'A' + 'a') : c; }
char to_upper(char c) { return char(c - 'a' + 'A'); }

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end) words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

[[noreturn]] void bad_fen(const std::string& message, std::string_view part) { throw Error("FenError", message, part); }

void parse_board(const Variant& variant, std::string_view text, State& state) {
    int file = 0, rank = variant.ranks - 1;
    bool after_digit = false;
    for (const char c : text) {
        const std::string where = "rank " + std::to_string(rank + 1) + " of the board";
        if (c == '/') {
            if (file != variant.files)
                bad_fen(where + " has " + std::to_string(file) + " squares instead of " + std::to_string(variant.files),
                        text);
            if (rank == 0) bad_fen("the board has more than " + std::to_string(variant.ranks) + " ranks", text);
            --rank;
            file = 0;
            after_digit = false;
        } else if (c >= '1' && c <= '9') {
            if (after_digit) bad_fen(where + " has two digits in a row", text);
            file += c - '0';
            after_digit = true;
        } else {
            const Role role = role_of(to_lower(c));
            if (role == NO_ROLE) bad_fen("no piece is called " + in_quotes({&c, 1}) + ", on " + where, {&c, 1});
            if (file < variant.files) state.put(is_upper(c) ? WHITE : BLACK, role, make_square(file, rank));
            ++file;
            after_digit = false;
        }
        if (file > variant.files) bad_fen(where + " has more than " + std::to_string(variant.files) + " squares", text);
    }
    if (rank != 0)
        bad_fen("the board has " + std::to_string(variant.ranks - rank) + " ranks instead of " +
                    std::to_string(variant.ranks),
                text);
    if (file != variant.files)
        bad_fen(
            "rank 1 of the board has " + std::to_string(file) + " squares instead of " + std::to_string(variant.files),
            text);
}

// The outermost rook on one side of the king; the corner if there is none, or if the king is not on its first rank, which
// `validate` then rejects.
Square outermost_rook(const State& state, Color color, bool king_side) {
    const int rank = color == WHITE ? 0 : 7;
    const Square king = state.king(color);
    const Square corner = make_square(king_side ? 7 : 0, rank);
    if (king == NO_SQUARE || rank_of(king) != rank) return corner;
    const Bitboard rooks = state.of(color, ROOK) & rank_mask(rank);
    for (int i = 0; i < 8; ++i) {
        const Square square = king_side ? corner - i : corner + i;
        if (square == king) break;
        if (contains(rooks, square)) return square;
    }
    return corner;
}

void parse_castling(std::string_view text, State& state, bool lenient) {
    if (text == "-") return;
    for (const char c : text) {
        const Color color = is_upper(c) ? WHITE : BLACK;
        const char lower = to_lower(c);
        Square rook;
        if (lower == 'k' || lower == 'q')
            rook = outermost_rook(state, color, lower == 'k');
        else if (lower >= 'a' && lower <= 'h')
            rook = make_square(lower - 'a', color == WHITE ? 0 : 7);
        else
            bad_fen("castling rights are written with K, Q, k, q, files or -, not " + in_quotes(text), text);
        if (contains(state.castling, rook) && !lenient)
            bad_fen("castling rights name the same rook twice: " + in_quotes(text), text);
        state.castling |= bit(rook);
    }
}

std::uint16_t parse_number(std::string_view text, const char* what) {
    if (text.empty() || text.size() > 4 ||
        !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
        bad_fen(std::string(what) + " is a number up to 9999, not " + in_quotes(text), text);
    int number = 0;
    for (const char c : text) number = 10 * number + (c - '0');
    return static_cast<std::uint16_t>(number);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "3+3" are checks left to give, "+0+0" (Lichess) are checks given.
bool parse_checks(const Variant& variant, std::string_view text, State& state) {
    if (text.size() == 3 && is_digit(text[0]) && text[1] == '+' && is_digit(text[2])) {
        state.checks_left[WHITE] = static_cast<std::uint8_t>(text[0] - '0');
        state.checks_left[BLACK] = static_cast<std::uint8_t>(text[2] - '0');
        return true;
    }
    if (text.size() == 4 && text[0] == '+' && is_digit(text[1]) && text[2] == '+' && is_digit(text[3])) {
        const int white = variant.checks_to_win - (text[1] - '0'), black = variant.checks_to_win - (text[3] - '0');
        state.checks_left[WHITE] = static_cast<std::uint8_t>(white < 0 ? 9 : white);  // 9: refused by `validate`
        state.checks_left[BLACK] = static_cast<std::uint8_t>(black < 0 ? 9 : black);
        return true;
    }
    return false;
}

std::string side_name(Color color) { return color == WHITE ? "White" : "Black"; }

void check_pieces(const Variant& variant, const State& state) {
    if (!state.occupied()) throw Error("EmptyBoard", "the board is empty", "");
    const bool promotes_to_king = std::ranges::count(variant.promotions, KING) > 0;
    for (const Color color : {WHITE, BLACK}) {
        const int pieces = count(state.of(color)), kings = count(state.of(color, KING));
        if (pieces > variant.max_pieces[color])
            throw Error("TooManyPieces",
                        side_name(color) + " has " + std::to_string(pieces) + " pieces, at most " +
                            std::to_string(variant.max_pieces[color]) + " are possible in " + std::string(variant.name),
                        std::to_string(pieces));
        const int most = variant.royal[color] ? 1 : promotes_to_king ? pieces : 0;
        if (kings > most)
            throw Error(
                "TooManyKings",
                side_name(color) + " has " + std::to_string(kings) + " kings instead of " + std::to_string(most),
                square_name(first(state.of(color, KING))));
        const bool may_be_gone = variant.kings_may_explode && state.of(~color, KING);
        if (variant.royal[color] && !kings && !may_be_gone)
            throw Error("NoKing", side_name(color) + " has no king", side_name(color));
        const Bitboard stray = state.of(color, PAWN) & ~(variant.pawns ? variant.pawn_squares[color] : 0);
        if (stray && variant.pawns)
            throw Error("PawnOnBackRank",
                        "a " + std::string(color == WHITE ? "white" : "black") + " pawn cannot stand on " +
                            square_name(first(stray)),
                        square_name(first(stray)));
        if (stray)
            throw Error("TooManyPieces",
                        std::string(variant.name) + " has no pawns, but one stands on " + square_name(first(stray)),
                        square_name(first(stray)));
    }
}

// Returns the error of one castling right, or none.
std::optional<std::string> castling_fault(const Variant& variant, const State& state, bool chess960, Square rook) {
    const Color color = rank_of(rook) == 0 ? WHITE : BLACK;
    const Square king = state.king(color);
    if (rank_of(rook) != 0 && rank_of(rook) != 7) return "no rook castles from " + square_name(rook);
    if (!contains(state.of(color, ROOK), rook))
        return side_name(color) + " has no rook on " + square_name(rook) + " to castle with";
    if (king == NO_SQUARE || rank_of(king) != rank_of(rook))
        return side_name(color) + "'s king is not on its first rank and cannot castle";
    if (!chess960 && (file_of(king) != 4 || (file_of(rook) != 0 && file_of(rook) != 7)))
        return "castling with the king on " + square_name(king) + " and the rook on " + square_name(rook) +
               (variant.shuffled ? " is only possible in " + std::string(variant.name) + "960"
                                 : " is not possible in " + std::string(variant.name));
    const Bitboard same_side = rook > king ? ~(bit(king) - 1) : bit(king) - 1;
    if (more_than_one(state.castling & rank_mask(rank_of(rook)) & same_side))
        return side_name(color) + " cannot castle with two rooks on the same side";
    return std::nullopt;
}

// Returns the error of an en passant square, or none.
std::optional<std::string> en_passant_fault(const Variant& variant, const State& state, Square square) {
    const int rank = state.turn == WHITE ? 5 : 2;
    const Square pawn = square ^ 8, origin = state.turn == WHITE ? square + 8 : square - 8;
    if (!variant.double_step) return "there is no en passant in " + std::string(variant.name);
    if (rank_of(square) != rank)
        return "en passant square " + square_name(square) + " is not on rank " + std::to_string(rank + 1);
    if (!contains(state.of(~state.turn, PAWN), pawn))
        return "no pawn on " + square_name(pawn) + " can have passed " + square_name(square);
    if (state.occupied() & (bit(square) | bit(origin)))
        return "no pawn can have passed " + square_name(square) + ": the way is not free";
    return std::nullopt;
}

void write_castling(const State& state, Castling castling, std::string& fen) {
    if (!state.castling) fen += '-';
    for (const Color color : {WHITE, BLACK}) {
        const Bitboard rights = state.castling & rank_mask(color == WHITE ? 0 : 7);
        for (int file = 7; file >= 0; --file) {
            const Square rook = make_square(file, color == WHITE ? 0 : 7);
            if (!contains(rights, rook)) continue;
            const bool king_side = rook > state.king(color);
            const bool plain = castling == Castling::X_FEN && outermost_rook(state, color, king_side) == rook;
            const char letter = plain ? (king_side ? 'k' : 'q') : char('a' + file);
            fen += color == WHITE ? to_upper(letter) : letter;
        }
    }
}

}  // namespace

Square parse_square(const Variant& variant, std::string_view name) {
    if (name.size() != 2) return NO_SQUARE;
    const int file = name[0] - 'a', rank = name[1] - '1';
    if (file < 0 || file >= variant.files || rank < 0 || rank >= variant.ranks) return NO_SQUARE;
    return make_square(file, rank);
}

Setup parse_fen(const Variant& variant, bool chess960, std::string_view fen, bool lenient) {
    if (fen.size() > MAX_FEN)
        bad_fen("a FEN has at most " + std::to_string(MAX_FEN) + " characters, this one " + std::to_string(fen.size()),
                fen.substr(0, 40));
    const std::vector<std::string_view> fields = split(fen);
    if (fields.size() < 4)
        bad_fen("a FEN has a board, a turn, castling rights and an en passant square; this one has " +
                    std::to_string(fields.size()) + " of them",
                fen);
    Setup setup{.variant = &variant, .chess960 = chess960, .state = {}};
    State& state = setup.state;

    // 1. Board, turn, castling rights, en passant square.
    parse_board(variant, fields[0], state);
    if (fields[1] != "w" && fields[1] != "b")
        bad_fen("the side to move is w or b, not " + in_quotes(fields[1]), fields[1]);
    state.turn = fields[1] == "w" ? WHITE : BLACK;
    parse_castling(fields[2], state, lenient);
    if (!variant.castling) state.castling = 0;  // old antichess FENs contain castling rights that do not exist
    if (fields[3] != "-") {
        const Square square = parse_square(variant, fields[3]);
        if (square == NO_SQUARE) bad_fen("en passant is a square or -, not " + in_quotes(fields[3]), fields[3]);
        state.ep_square = static_cast<std::uint8_t>(square);
    }

    // 2. Checks left, before or after the clocks; clocks may be missing, as in an EPD.
    std::size_t next = 4;
    bool checks_seen = !variant.checks_to_win;
    state.checks_left[WHITE] = state.checks_left[BLACK] = static_cast<std::uint8_t>(variant.checks_to_win);
    if (!checks_seen && next < fields.size() && parse_checks(variant, fields[next], state)) checks_seen = ++next;
    if (next < fields.size()) state.halfmove_clock = parse_number(fields[next++], "the half-move clock");
    if (next < fields.size())
        state.fullmove_number = std::max<std::uint16_t>(1, parse_number(fields[next++], "the move number"));
    if (!checks_seen && next < fields.size() && parse_checks(variant, fields[next], state)) ++next;
    if (next < fields.size()) bad_fen("nothing is expected at " + in_quotes(fields[next]), fields[next]);
    return setup;
}

State validate(const Setup& setup, bool lenient) {
    const Variant& variant = *setup.variant;
    State state = setup.state;
    check_pieces(variant, state);
    if (const int most = variant.checks_to_win)
        if (state.checks_left[WHITE] > most || state.checks_left[BLACK] > most ||
            !(state.checks_left[WHITE] | state.checks_left[BLACK]))
            throw Error("BadChecks",
                        "checks left are 0 to " + std::to_string(most) + " for each side, and not 0 for both",
                        std::to_string(state.checks_left[WHITE]) + "+" + std::to_string(state.checks_left[BLACK]));

    // 1. Castling rights.
    for (Bitboard rooks = setup.state.castling; rooks;) {
        const Square rook = take_first(rooks);
        if (!variant.castling) {
            state.castling = 0;
        } else if (const auto fault = castling_fault(variant, setup.state, setup.chess960, rook)) {
            if (!lenient) throw Error("BadCastling", *fault, square_name(rook));
            state.castling &= ~bit(rook);
        }
    }

    // 2. The side not to move must not be in check (where checks are forbidden, neither side).
    const bool over = variant.has_ended(state);
    if (!(variant.kings_may_explode && over) && !lenient) {
        const auto refuse_check = [&](Color side) {
            if (const Bitboard checkers = variant.checkers(state, side))
                throw Error("OppositeCheck",
                            side_name(side) + "'s king on " + square_name(state.king(side)) + " is attacked from " +
                                square_name(first(checkers)) + " with " + side_name(state.turn) + " to move",
                            square_name(state.king(side)));
        };
        refuse_check(~state.turn);
        if (variant.checks_are_forbidden) refuse_check(state.turn);
    }

    // 3. Keep the en passant square only if a legal capture exists.
    state.ep_square = NO_SQUARE;
    if (const Square square = setup.state.ep_square; square != NO_SQUARE) {
        const auto fault = en_passant_fault(variant, state, square);
        if (fault && !lenient) throw Error("BadEnPassant", *fault, square_name(square));
        if (!fault && variant.can_capture_en_passant(state, square))
            state.ep_square = static_cast<std::uint8_t>(square);
    }
    state.key = ZOBRIST.of(state);
    return state;
}

std::string write_board(const Variant& variant, const State& state) {
    std::string text;
    for (int rank = variant.ranks - 1; rank >= 0; --rank) {
        int empty = 0;
        for (int file = 0; file < variant.files; ++file) {
            const Square square = make_square(file, rank);
            const Role role = state.role_at(square);
            if (role == NO_ROLE) {
                ++empty;
                continue;
            }
            if (empty) text += char('0' + empty);
            empty = 0;
            text += piece_letter(state.color_at(square), role);
        }
        if (empty) text += char('0' + empty);
        if (rank) text += '/';
    }
    return text;
}

std::string write_epd(const Variant& variant, const State& state, Castling castling) {
    std::string epd = write_board(variant, state);
    epd += state.turn == WHITE ? " w " : " b ";
    write_castling(state, castling, epd);
    epd += ' ';
    epd += state.ep_square == NO_SQUARE ? "-" : square_name(state.ep_square);
    if (variant.checks_to_win)
        epd += " " + std::to_string(state.checks_left[WHITE]) + "+" + std::to_string(state.checks_left[BLACK]);
    return epd;
}

std::string write_fen(const Variant& variant, const State& state, Castling castling) {
    return write_epd(variant, state, castling) + " " + std::to_string(state.halfmove_clock) + " " +
           std::to_string(state.fullmove_number);
}

}  // namespace selfmate
