#include "record.h"

#include <algorithm>
#include <cstring>

#include "error.h"

namespace selfmate {
namespace {

constexpr std::string_view MAGIC = "SMG1";
constexpr std::uint8_t NO_OUTCOME = 255;
constexpr float WEIGHT_UNIT = 1.0f / 65535;

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
    // Seven bits a byte, as most counts are small.
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
        fail("a number does not end");
    }
    std::string_view take(std::size_t size) {
        if (size > rest_.size()) fail("it ends too early");
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

std::int16_t fixed(float value) { return static_cast<std::int16_t>(std::clamp(value, -1.0f, 1.0f) * 32767.0f); }
float floating(std::int16_t value) { return static_cast<float>(value) / 32767.0f; }

}  // namespace

std::string write_record(const GameRecord& record) {
    Writer out;
    out.bytes = MAGIC;
    out.number(record.id);
    out.text(record.variant->name);
    out.number(static_cast<std::uint8_t>(record.chess960));
    out.text(record.start_fen == record.variant->start ? "" : record.start_fen);
    out.number(record.random_plies);
    out.number(record.white_evaluator);
    out.number(record.outcome ? static_cast<std::uint8_t>(record.outcome->termination) : NO_OUTCOME);
    out.number(record.outcome ? static_cast<std::uint8_t>(record.outcome->winner) : NO_OUTCOME);
    out.number(static_cast<std::uint16_t>(record.moves.size()));
    for (const Move move : record.moves) out.number(move.bits());
    out.number(static_cast<std::uint16_t>(record.positions.size()));
    for (const TrainedPosition& position : record.positions) {
        out.number(position.ply);
        out.number(fixed(position.value));
        out.number(fixed(position.net_value));
        out.count(static_cast<std::uint32_t>(position.targets.size()));
        for (const Target& target : position.targets) {
            out.number(target.move.bits());
            out.number(static_cast<std::uint16_t>(std::clamp(target.weight, 0.0f, 1.0f) / WEIGHT_UNIT + 0.5f));
            out.count(target.visits);
        }
    }
    return std::move(out.bytes);
}

GameRecord read_record(std::string_view bytes) {
    Reader in(bytes);
    if (in.take(MAGIC.size()) != MAGIC) Reader::fail("it does not begin with SMG1");
    GameRecord record;
    record.id = in.number<std::uint64_t>();
    const std::string name(in.text());
    record.variant = find_variant(name);
    if (!record.variant) Reader::fail("no variant is called " + quoted(name));
    record.chess960 = in.number<std::uint8_t>();
    record.start_fen = in.text();
    if (record.start_fen.empty()) record.start_fen = record.variant->start;
    record.random_plies = in.number<std::uint16_t>();
    record.white_evaluator = in.number<std::uint8_t>();
    const std::uint8_t termination = in.number<std::uint8_t>(), winner = in.number<std::uint8_t>();
    if (termination != NO_OUTCOME) {
        if (termination > static_cast<std::uint8_t>(Termination::HORDE_DESTROYED) ||
            winner > static_cast<std::uint8_t>(Winner::NOBODY))
            Reader::fail("its outcome is none of ours");
        record.outcome = Outcome{Termination(termination), Winner(winner)};
    }
    const std::size_t plies = in.number<std::uint16_t>();
    if (plies * 2 > in.left()) Reader::fail("it ends too early");
    for (std::size_t i = 0; i < plies; ++i) record.moves.push_back(Move::from_bits(in.number<std::uint16_t>()));
    const std::size_t positions = in.number<std::uint16_t>();
    for (std::size_t i = 0; i < positions; ++i) {
        TrainedPosition position;
        position.ply = in.number<std::uint16_t>();
        if (position.ply > plies || (i && position.ply <= record.positions.back().ply))
            Reader::fail("its positions are out of order");
        position.value = floating(in.number<std::int16_t>());
        position.net_value = floating(in.number<std::int16_t>());
        const std::uint32_t targets = in.count();
        if (targets > MAX_MOVES) Reader::fail("a position has too many moves");
        for (std::uint32_t j = 0; j < targets; ++j) {
            Target target;
            target.move = Move::from_bits(in.number<std::uint16_t>());
            target.weight = static_cast<float>(in.number<std::uint16_t>()) * WEIGHT_UNIT;
            target.visits = in.count();
            position.targets.push_back(target);
        }
        record.positions.push_back(std::move(position));
    }
    if (in.left()) Reader::fail("something follows after its end");

    // Every move must be legal, and every target a legal move of its position.
    try {
        Position position(parse_fen(*record.variant, record.chess960, record.start_fen), false);
        std::size_t next = 0;
        for (std::size_t ply = 0; ply <= plies; ++ply) {
            const MoveList legal = position.legal_moves();
            const auto is_legal = [&](Move move) { return std::find(legal.begin(), legal.end(), move) != legal.end(); };
            if (next < record.positions.size() && record.positions[next].ply == ply) {
                for (const Target& target : record.positions[next].targets)
                    if (!is_legal(target.move)) Reader::fail("a target is not a legal move");
                ++next;
            }
            if (ply == plies) break;
            if (!is_legal(record.moves[ply])) Reader::fail("move " + std::to_string(ply + 1) + " is not legal");
            position.play(record.moves[ply]);
        }
    } catch (const Error& error) {
        if (std::string_view(error.kind()) == "RecordError") throw;
        Reader::fail(error.what());
    }
    return record;
}

}  // namespace selfmate
