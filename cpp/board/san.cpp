#include "board/san.h"

#include <algorithm>

#include "util/error.h"

namespace selfmate {
namespace {

constexpr std::size_t MAX_SAN = 16;

char upper(Role role) { return piece_letter(WHITE, role); }

std::string without_suffix(const Position& position, Move move) {
    const State& state = position.state();
    if (move.is_null()) return "--";
    if (position.is_castling(move)) return move.to() > move.from() ? "O-O" : "O-O-O";
    const Role role = state.role_at(move.from());
    std::string san;
    if (role == PAWN) {
        if (position.is_capture(move)) san += char('a' + file_of(move.from()));
    } else {
        san += upper(role);
        // Disambiguate from other pieces of the same role: by file, else by rank, else by both.
        Bitboard others = 0;
        for (const Move other : position.legal_moves())
            if (other.to() == move.to() && other.from() != move.from() && state.role_at(other.from()) == role &&
                !position.is_castling(other))
                others |= bit(other.from());
        if (others) {
            const bool file_tells = !(others & file_mask(file_of(move.from())));
            const bool rank_tells = !(others & rank_mask(rank_of(move.from())));
            if (file_tells || !rank_tells) san += char('a' + file_of(move.from()));
            if (!file_tells) san += char('1' + rank_of(move.from()));
        }
    }
    if (position.is_capture(move)) san += 'x';
    san += square_name(move.to());
    if (move.promotion() != NO_ROLE) {
        san += '=';
        san += upper(move.promotion());
    }
    return san;
}

// The parts of a SAN; NO_ROLE, -1 and NO_SQUARE for absent ones.
struct SanParts {
    bool castles = false, king_side = false;
    Role role = PAWN, promotion = NO_ROLE;
    int file = -1, rank = -1;
    Square to = NO_SQUARE;
};

[[noreturn]] void invalid(std::string_view san) {
    throw Error("InvalidSan", in_quotes(san) + " is not a move like Nf3, exd5, O-O or e8=Q", san.substr(0, 40));
}

// Removes signs of check and mate, marks, and "e.p." or "ep".
std::string_view without_marks(std::string_view text) {
    const auto strip = [&text] {
        while (!text.empty() && std::string_view("+#!?").find(text.back()) != text.npos) text.remove_suffix(1);
    };
    strip();
    for (const std::string_view mark : {"e.p.", "ep"})
        if (text.ends_with(mark)) text.remove_suffix(mark.size());
    strip();
    return text;
}

// The number of letters in a text like O-O or 0-0-0, else 0. Lichess also reads the letter o, and the non-breaking hyphen
// and the dash of U+2011 and U+2013.
int castling_letters(std::string_view text) {
    for (int letters = 1; !text.empty() && std::string_view("Oo0").find(text.front()) != text.npos; ++letters) {
        text.remove_prefix(1);
        if (text.empty()) return letters;
        const auto hyphens = {std::string_view("-"), std::string_view("\u2011"), std::string_view("\u2013")};
        const auto* const hyphen = std::ranges::find_if(hyphens, [&](auto each) { return text.starts_with(each); });
        if (hyphen == hyphens.end()) return 0;
        text.remove_prefix(hyphen->size());
    }
    return 0;
}

SanParts read(std::string_view san, const Variant& variant) {
    if (san.size() > MAX_SAN) invalid(san);
    std::string_view rest = without_marks(san);

    SanParts parts;
    if (const int letters = castling_letters(rest); letters == 2 || letters == 3) {
        parts.castles = true;
        parts.king_side = letters == 2;
        return parts;
    }
    // Promotion and target from the back, then the piece from the front, then the origin between them.
    const auto role_named = [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? role_of(char(letter - 'A' + 'a')) : NO_ROLE;
    };
    if (rest.size() >= 3) {
        const bool equals = rest[rest.size() - 2] == '=';
        const Role promotion =
            equals ? std::max(role_named(rest.back()), role_of(rest.back())) : role_named(rest.back());
        if (promotion != NO_ROLE) {
            if (promotion == PAWN) invalid(san);
            parts.promotion = promotion;
            rest.remove_suffix(equals ? 2 : 1);
        }
    }
    if (rest.size() < 2) invalid(san);
    parts.to = parse_square(variant, rest.substr(rest.size() - 2));
    if (parts.to == NO_SQUARE) invalid(san);
    rest.remove_suffix(2);
    if (!rest.empty() && role_named(rest.front()) != NO_ROLE) {
        parts.role = role_named(rest.front());
        rest.remove_prefix(1);
    }
    if (!rest.empty() && (rest.back() == 'x' || rest.back() == '-')) rest.remove_suffix(1);
    if (!rest.empty() && rest.front() >= 'a' && rest.front() < 'a' + variant.files) {
        parts.file = rest.front() - 'a';
        rest.remove_prefix(1);
    }
    if (!rest.empty() && rest.front() >= '1' && rest.front() < '1' + variant.ranks) {
        parts.rank = rest.front() - '1';
        rest.remove_prefix(1);
    }
    if (!rest.empty()) invalid(san);
    return parts;
}

}  // namespace

std::string write_san(const Position& position, Move move) {
    std::string san = without_suffix(position, move);
    if (move.is_null()) return san;
    const Variant& variant = position.variant();
    State next = position.state();
    variant.play(next, move);
    if (variant.has_ended(next)) return variant.ending(next).winner == Winner::NONE ? san : san + '#';
    const bool check = variant.checkers(next, next.turn);
    if (!variant.count_moves(next) && variant.without_moves(next, check).winner != Winner::NONE) return san + '#';
    return check ? san + '+' : san;
}

Move parse_san(const Position& position, std::string_view san) {
    const State& state = position.state();
    const SanParts parts = read(san, position.variant());
    std::optional<Move> found;
    bool other_promotion = false;
    for (const Move move : position.legal_moves()) {
        if (position.is_castling(move)) {
            if (parts.castles && parts.king_side == (move.to() > move.from())) return move;
            continue;
        }
        if (parts.castles || move.to() != parts.to || state.role_at(move.from()) != parts.role) continue;
        if (parts.file >= 0 && parts.file != file_of(move.from())) continue;
        if (parts.rank >= 0 && parts.rank != rank_of(move.from())) continue;
        // A pawn capture must name its file: "d5" is not exd5.
        if (parts.role == PAWN && parts.file < 0 && file_of(move.from()) != file_of(move.to())) continue;
        if (move.promotion() != parts.promotion) {
            other_promotion = true;
            continue;
        }
        if (found)
            throw Error("AmbiguousSan", in_quotes(san) + " could be " + write_move(*found) + " or " + write_move(move),
                        san);
        found = move;
    }
    if (found) return *found;
    if (parts.file >= 0 && parts.rank >= 0 && san.size() == 4 && parts.role == PAWN)
        throw Error("InvalidSan", in_quotes(san) + " is not SAN but UCI; SAN is a move like Nf3, exd5, O-O or e8=Q",
                    san);
    std::string why = other_promotion ? parts.promotion == NO_ROLE ? ": say what the pawn becomes, as in e8=Q"
                                                                   : ": no piece can become that"
                                      : "";
    throw Error("IllegalSan",
                in_quotes(san) + " is not legal" + why + " (" + position.fen(position.own_castling()) + ")", san);
}

}  // namespace selfmate
