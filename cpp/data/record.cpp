#include "data/record.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>

#include "util/error.h"

namespace selfmate {
namespace {

constexpr std::string_view MAGIC = "SMG4";
// The same, followed by what few games have: flags, then judgement, resignation and scores where their flags are set.
constexpr std::string_view EXTENDED = "SMG5";
constexpr std::uint8_t HAS_JUDGEMENT = 1, HAS_RESIGNATION = 2, HAS_SCORES = 4;
constexpr std::int16_t NO_SCORE = -32768;
// Older versions, which are read too: without draws, and SMG2 without the black seat and the referee's reason.
constexpr std::string_view WITHOUT_DRAWS = "SMG3", SELFPLAY_WITHOUT_DRAWS = "SMG2";
constexpr std::uint8_t NO_OUTCOME = 255;

class Writer {
public:
    template <class T>
    void number(T value) {
        char raw[sizeof(T)];
        std::memcpy(raw, &value, sizeof(T));
        bytes.append(raw, sizeof(T));
    }
    void text(std::string_view value) {
        number(static_cast<std::uint16_t>(value.size()));
        bytes.append(value);
    }
    // LEB128: seven bits per byte, because most counts are small.
    void count(std::uint32_t value) {
        for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
        bytes += static_cast<char>(value);
    }
    std::string bytes;
};

class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}
    template <class T>
    T number() {
        T value;
        const std::string_view raw = take(sizeof(T));
        std::memcpy(&value, raw.data(), sizeof(T));
        return value;
    }
    std::string_view text() { return take(number<std::uint16_t>()); }
    std::uint32_t count() {
        std::uint32_t value = 0;
        for (int shift = 0; shift < 35; shift += 7) {
            const std::uint8_t byte = number<std::uint8_t>();
            value |= static_cast<std::uint32_t>(byte & 127) << shift;
            if (byte < 128) return value;
        }
        fail("a number is longer than 32 bits");
    }
    std::string_view take(std::size_t size) {
        if (size > rest_.size()) fail("it is truncated");
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    std::size_t left() const { return rest_.size(); }
    [[noreturn]] static void fail(const std::string& why) {
        throw Error("RecordError", "not a game record: " + why, why);
    }

private:
    std::string_view rest_;
};

// Quantisation: values in steps of 1/127, square roots of weights in steps of 1/255. Both are finer than the error of a
// search; the square root keeps two digits of small weights.
std::int8_t value_code(float value) {
    return static_cast<std::int8_t>(std::lround(std::clamp(value, -1.0f, 1.0f) * 127));
}
float value_of(std::int8_t code) { return static_cast<float>(code) / 127; }
std::uint8_t draw_code(float draw) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(draw, 0.0f, 1.0f) * 255));
}
float draw_of(std::uint8_t code) { return static_cast<float>(code) / 255; }
// The share of draws beside the rounded value, for which reading takes at most what that value leaves. Writing does so,
// too, and a share that fills what the value leaves also fills what the rounded value leaves. So a record that was read
// is written as the same bytes, and a game that was read and goes on as one that was never interrupted.
float rounded_draw(float value, float draw) {
    const float most = 1 - std::abs(value_of(value_code(value)));
    return draw >= 1 - std::abs(value) ? most : std::min(draw, most);
}
std::uint8_t weight_code(float weight) {
    return static_cast<std::uint8_t>(std::lround(std::sqrt(std::clamp(weight, 0.0f, 1.0f)) * 255));
}
float weight_of(std::uint8_t code) { return static_cast<float>(code) * static_cast<float>(code) / (255 * 255); }

// Appends the legal moves in an order that does not depend on the generator. A move is stored as its index among them.
void append_sorted_moves(const Variant& variant, const State& state, std::vector<Move>& moves) {
    MoveList legal;
    variant.legal_moves(state, legal);
    const auto first = moves.insert(moves.end(), legal.begin(), legal.end());
    std::sort(first, moves.end(), [](Move a, Move b) { return a.bits() < b.bits(); });
}

std::vector<Move> sorted_moves(const Position& position) {
    std::vector<Move> moves;
    append_sorted_moves(position.variant(), position.state(), moves);
    return moves;
}

std::size_t index_of(Move move, const std::vector<Move>& moves) {
    const auto found = std::find(moves.begin(), moves.end(), move);
    if (found == moves.end()) throw Error("RecordError", "not a game record: a move of it is not legal", "");
    return static_cast<std::size_t>(found - moves.begin());
}

// The sorted legal moves of every position of a game, [plies + 1], one after the other: one allocation, not one a ply.
struct LegalMoves {
    std::vector<Move> moves;
    std::vector<std::size_t> starts;

    std::span<const Move> at(std::size_t ply) const {
        const std::size_t end = ply + 1 < starts.size() ? starts[ply + 1] : moves.size();
        return std::span(moves).subspan(starts[ply], end - starts[ply]);
    }
};

// Reads the moves of a record and returns the legal moves of its positions.
LegalMoves read_moves(Reader& in, GameRecord& record, std::size_t plies) {
    LegalMoves legal;
    legal.moves.reserve(32 * (plies + 1));
    legal.starts.reserve(plies + 1);
    record.moves.reserve(plies);
    try {
        // Without the history that a position keeps: nothing here asks for repetitions or takes moves back.
        State state = Position(parse_fen(*record.variant, record.chess960, record.start_fen), false).state();
        for (std::size_t ply = 0;; ++ply) {
            legal.starts.push_back(legal.moves.size());
            append_sorted_moves(*record.variant, state, legal.moves);
            if (ply == plies) break;
            const std::uint32_t index = in.count();
            if (index >= legal.at(ply).size()) Reader::fail("move " + std::to_string(ply + 1) + " is not legal");
            record.moves.push_back(legal.at(ply)[index]);
            record.variant->play(state, record.moves.back());
        }
    } catch (const Error& error) {
        if (std::string_view(error.kind()) == "RecordError") throw;
        Reader::fail(error.what());
    }
    return legal;
}

std::uint8_t extensions(const GameRecord& record) {
    return static_cast<std::uint8_t>((record.judgement ? HAS_JUDGEMENT : 0) |
                                     (record.resignation ? HAS_RESIGNATION : 0) |
                                     (record.with_scores ? HAS_SCORES : 0));
}

void write_extensions(Writer& out, const GameRecord& record, std::uint8_t flags) {
    out.number(flags);
    if (record.judgement) {
        out.number(record.judgement->value);
        out.number(std::min(record.judgement->draw, 1 - std::abs(record.judgement->value)));  // as it is read
    }
    if (record.resignation) {
        out.number(record.resignation->ply);
        out.number(static_cast<std::uint8_t>(record.resignation->side));
    }
    if (record.with_scores)
        for (std::size_t ply = 0; ply < record.moves.size(); ++ply) {
            const Score score = ply < record.scores.size() ? record.scores[ply] : std::nullopt;
            out.number(score ? static_cast<std::int16_t>(std::clamp(*score, -32767, 32767)) : NO_SCORE);
        }
}

void read_extensions(Reader& in, GameRecord& record) {
    const std::uint8_t flags = in.number<std::uint8_t>();
    if (flags & ~(HAS_JUDGEMENT | HAS_RESIGNATION | HAS_SCORES)) Reader::fail("it has unknown parts");
    if (flags & HAS_JUDGEMENT) {
        const float value = in.number<float>(), draw = in.number<float>();
        if (!(std::abs(value) <= 1 && draw >= 0 && draw <= 1)) Reader::fail("its judgement is no probability");
        record.judgement = Judgement{.value = value, .draw = std::min(draw, 1 - std::abs(value))};
    }
    if (flags & HAS_RESIGNATION) {
        const std::uint16_t ply = in.number<std::uint16_t>();
        const std::uint8_t side = in.number<std::uint8_t>();
        if (!ply || ply > record.moves.size() || side > BLACK) Reader::fail("its resignation is out of the game");
        record.resignation = Resignation{.ply = ply, .side = Color(side)};
    }
    record.with_scores = flags & HAS_SCORES;
    if (record.with_scores)
        for (std::size_t ply = 0; ply < record.moves.size(); ++ply) {
            const std::int16_t score = in.number<std::int16_t>();
            record.scores.push_back(score == NO_SCORE ? std::nullopt : Score(score));
        }
}

}  // namespace

// Header, moves, then the trained positions by column (all plies, all values, …), which compresses better than by row.
std::string write_record(const GameRecord& record) {
    Writer out;
    const std::uint8_t flags = extensions(record);
    out.bytes = flags ? EXTENDED : MAGIC;
    out.number(record.id);
    out.text(record.variant->name);
    out.number(static_cast<std::uint8_t>(record.chess960));
    out.text(record.start_fen == record.variant->start ? "" : record.start_fen);
    out.number(record.random_plies);
    out.number(record.white_seat);
    out.number(record.black_seat);
    out.text(record.referee_reason);
    out.number(record.outcome ? static_cast<std::uint8_t>(record.outcome->termination) : NO_OUTCOME);
    out.number(record.outcome ? static_cast<std::uint8_t>(record.outcome->winner) : NO_OUTCOME);
    out.number(static_cast<std::uint16_t>(record.moves.size()));
    out.number(static_cast<std::uint16_t>(record.positions.size()));

    Writer plies, values, draws, net_values, visits, weights;
    Position position(parse_fen(*record.variant, record.chess960, record.start_fen), false);
    auto trained = record.positions.begin();
    std::uint32_t last_ply = 0;
    for (std::uint32_t ply = 0; ply <= record.moves.size(); ++ply) {
        const std::vector<Move> legal = sorted_moves(position);
        if (trained != record.positions.end() && trained->ply == ply) {
            plies.count(ply - last_ply);
            values.number(value_code(trained->value));
            draws.number(draw_code(rounded_draw(trained->value, trained->draw)));
            net_values.number(value_code(trained->net_value));
            std::vector<Target> found(legal.size());
            for (const Target& target : trained->targets) found[index_of(target.move, legal)] = target;
            for (const Target& target : found) {
                visits.count(target.visits);
                weights.number(weight_code(target.weight));
            }
            last_ply = ply;
            ++trained;
        }
        if (ply == record.moves.size()) break;
        out.count(static_cast<std::uint32_t>(index_of(record.moves[ply], legal)));
        position.play(record.moves[ply]);
    }
    for (const Writer* column : {&plies, &values, &draws, &net_values, &visits, &weights}) out.bytes += column->bytes;
    if (flags) write_extensions(out, record, flags);
    return std::move(out.bytes);
}

GameRecord read_record(std::string_view bytes) {
    // 1. The header
    Reader in(bytes);
    const std::string_view magic = in.take(MAGIC.size());
    if (magic != MAGIC && magic != EXTENDED && magic != WITHOUT_DRAWS && magic != SELFPLAY_WITHOUT_DRAWS)
        Reader::fail("it does not begin with " + std::string(MAGIC));
    GameRecord record;
    record.id = in.number<std::uint64_t>();
    const std::string name(in.text());
    record.variant = find_variant(name);
    if (!record.variant) Reader::fail("unknown variant " + in_quotes(name));
    record.chess960 = in.number<std::uint8_t>();
    record.start_fen = in.text();
    if (record.start_fen.empty()) record.start_fen = record.variant->start;
    record.random_plies = in.number<std::uint16_t>();
    record.white_seat = in.number<std::uint8_t>();
    if (magic != SELFPLAY_WITHOUT_DRAWS) {
        record.black_seat = in.number<std::uint8_t>();
        record.referee_reason = in.text();
    }
    const std::uint8_t termination = in.number<std::uint8_t>(), winner = in.number<std::uint8_t>();
    if (termination != NO_OUTCOME) {
        if (termination >= std::size(REASONS) || winner > static_cast<std::uint8_t>(Winner::NONE))
            Reader::fail("its outcome is unknown");
        record.outcome = Outcome{Termination(termination), Winner(winner)};
    }
    const std::size_t plies = in.number<std::uint16_t>(), trained = in.number<std::uint16_t>();
    if (plies + trained > in.left() || trained > plies + 1) Reader::fail("it is truncated");

    // 2. The moves, each an index into the sorted legal moves
    const LegalMoves legal = read_moves(in, record, plies);

    // 3. The trained positions
    record.positions.resize(trained);
    std::size_t ply = 0;
    for (std::size_t i = 0; i < trained; ++i) {
        const std::uint32_t step = in.count();
        if (step > plies - ply || (i && !step)) Reader::fail("its positions are out of order");
        record.positions[i].ply = static_cast<std::uint16_t>(ply += step);
    }
    for (TrainedPosition& position : record.positions) position.value = value_of(in.number<std::int8_t>());
    const bool has_draws = magic == MAGIC || magic == EXTENDED;
    for (TrainedPosition& position : record.positions)
        position.draw = std::min(has_draws ? draw_of(in.number<std::uint8_t>()) : 1, 1 - std::abs(position.value));
    for (TrainedPosition& position : record.positions) position.net_value = value_of(in.number<std::int8_t>());
    for (TrainedPosition& position : record.positions) {
        const std::span<const Move> moves = legal.at(position.ply);
        position.targets.reserve(moves.size());
        for (const Move move : moves) position.targets.push_back({.move = move, .visits = in.count(), .weight = 0});
    }
    for (TrainedPosition& position : record.positions) {
        for (Target& target : position.targets) target.weight = weight_of(in.number<std::uint8_t>());
        std::erase_if(position.targets, [](const Target& target) { return !target.visits && target.weight == 0; });
    }
    if (magic == EXTENDED) read_extensions(in, record);
    if (in.left()) Reader::fail("data follows its end");
    return record;
}

}  // namespace selfmate
