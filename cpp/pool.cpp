#include "pool.h"

#include <algorithm>
#include <utility>

#include "error.h"

namespace selfmate {
namespace {

// What random numbers are drawn for.
enum Purpose : std::uint64_t { OPENING = 1, CAP, SEARCH, CHOICE };

// Playouts that end in the rules cost nothing to evaluate, but must not keep a batch waiting.
constexpr int MAX_PLAYOUTS_PER_GATHER = 64;

}  // namespace

Pool::Pool(const PoolConfig& config, std::vector<PlayerConfig> players, std::size_t slots, std::size_t lanes,
           int threads, std::size_t leaves_per_slot)
    : config_(config),
      players_(std::move(players)),
      encoding_(encoding_of(*config.variant)),
      lanes_(lanes),
      leaves_per_slot_(leaves_per_slot),
      slots_(slots),
      staged_(slots),
      threads_(std::make_unique<Threads>(threads)) {}

void Pool::add(std::vector<Fixture> fixtures) {
    std::reverse(fixtures.begin(), fixtures.end());
    fixtures.insert(fixtures.end(), waiting_.begin(), waiting_.end());
    waiting_ = std::move(fixtures);
}

void Pool::resume(std::vector<GameRecord> games) {
    for (const GameRecord& game : games)
        if (game.variant != config_.variant || game.chess960 != config_.chess960)
            throw Error(
                "RecordError",
                "a game of " + std::string(game.variant->name) + " in a pool of " + std::string(config_.variant->name),
                game.variant->name);
    begun_.insert(begun_.end(), std::make_move_iterator(games.rbegin()), std::make_move_iterator(games.rend()));
}

// ---- one game ----------------------------------------------------------------------------------

void Pool::begin_game(Slot& slot, Fixture fixture) {
    const Variant& variant = *config_.variant;
    slot.fixture = std::move(fixture);
    slot.playing = true;
    slot.finished = false;
    const std::string fen = slot.fixture.start_fen.empty() ? std::string(variant.start) : slot.fixture.start_fen;
    const State start = validate(parse_fen(variant, config_.chess960, fen), false);
    // Random opening moves, drawn anew if they end the game.
    for (std::uint64_t attempt = 0;; ++attempt) {
        slot.state = start;
        slot.keys.clear();
        slot.record = {};
        slot.record.id = slot.fixture.id;
        slot.record.variant = &variant;
        slot.record.chess960 = config_.chess960;
        slot.record.start_fen = fen;
        slot.record.white_evaluator = slot.fixture.white_evaluator;
        Random random(config_.seed, slot.fixture.id, attempt, OPENING);
        const std::uint32_t plies = random.below(config_.random_plies + 1);
        bool ended = false;
        for (std::uint32_t ply = 0; ply < plies && !ended; ++ply) {
            MoveList moves;
            variant.legal_moves(slot.state, moves);
            ended = !moves.size();
            if (!ended) play(slot, moves[random.below(static_cast<std::uint32_t>(moves.size()))]);
        }
        slot.record.random_plies = static_cast<std::uint16_t>(slot.record.moves.size());
        if (!ended && !outcome(slot)) break;
        if (plies == 0) break;  // the given position itself is over: finish_search will never be asked
    }
    if (const auto over = outcome(slot)) {
        slot.record.outcome = over;
        slot.finished = true;
        return;
    }
    begin_search(slot);
}

// Self-play only: evaluator 0 plays both sides. The search of the present position begins anew, with the same
// random numbers, so that the game is the one that it would have been.
void Pool::take_up(Slot& slot, GameRecord record) {
    slot.fixture = {record.id, {}, 0, 0};
    slot.playing = true;
    slot.finished = false;
    slot.state = validate(parse_fen(*config_.variant, config_.chess960, record.start_fen), false);
    slot.keys.clear();
    const std::vector<Move> moves = std::exchange(record.moves, {});
    slot.record = std::move(record);
    for (const Move move : moves) play(slot, move);
    slot.record.outcome = outcome(slot);
    if (slot.record.outcome || slot.record.moves.size() >= config_.max_plies)
        slot.finished = true;
    else
        begin_search(slot);
}

void Pool::begin_search(Slot& slot) {
    const std::uint64_t ply = slot.record.moves.size();
    slot.full = Random(config_.seed, slot.fixture.id, ply, CAP).uniform() < config_.full_probability;
    const std::size_t reach = std::min<std::size_t>(slot.state.halfmove_clock, slot.keys.size());
    const bool forced = config_.variant->count_moves(slot.state) == 1;  // nothing to choose
    const std::uint32_t visits = slot.full ? player(slot).visits : config_.fast_visits;
    slot.search.begin(*config_.variant, slot.state, std::span(slot.keys).last(reach), player(slot).search,
                      forced ? 1 : visits, Random(config_.seed, slot.fixture.id, ply, SEARCH).bits());
}

void Pool::play(Slot& slot, Move move) {
    slot.keys.push_back(slot.state.key);
    slot.record.moves.push_back(move);
    config_.variant->play(slot.state, move);
}

// Play loops claim every draw there is.
std::optional<Outcome> Pool::outcome(const Slot& slot) const {
    return selfmate::outcome(*config_.variant, slot.state, slot.keys, true);
}

// The search is done: record what it found, play its move, and see whether the game goes on.
void Pool::finish_search(Slot& slot) {
    const std::uint64_t ply = slot.record.moves.size();
    Random random(config_.seed, slot.fixture.id, ply, CHOICE);
    const Search& search = slot.search;
    if (player(slot).at_random) {
        MoveList moves;
        config_.variant->legal_moves(slot.state, moves);
        play(slot, moves[random.below(static_cast<std::uint32_t>(moves.size()))]);
    } else {
        if (slot.full && search.root().edges > 1) {
            const Node& root = search.root();
            TrainedPosition position{static_cast<std::uint16_t>(ply),
                                     root.proof.known() ? root.proof.value() : root.value,
                                     root.net_value,
                                     {}};
            for (const MoveStats& stats : search.moves())
                if (stats.visits || stats.weight > 1e-4f)
                    position.targets.push_back({stats.move, stats.visits, stats.weight});
            slot.record.positions.push_back(std::move(position));
        }
        const double temperature = ply < config_.temperature_plies ? config_.temperature : 0;
        slot.playouts += search.visits();
        ++slot.plies;
        play(slot, search.root_move(search.sample(temperature, random)));
    }
    slot.record.outcome = outcome(slot);
    if (slot.record.outcome || slot.record.moves.size() >= config_.max_plies)
        slot.finished = true;
    else
        begin_search(slot);
}

// ---- the machine -------------------------------------------------------------------------------

void Pool::retire(Slot& slot) {
    if (!slot.finished) return;
    finished_.push_back(std::move(slot.record));
    slot.finished = slot.playing = false;
}

void Pool::refill(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        if (!staged_[i].vacant) continue;
        Slot& slot = slots_[i];
        retire(slot);
        while (!slot.playing && !(begun_.empty() && waiting_.empty())) {
            if (!begun_.empty()) {
                take_up(slot, std::move(begun_.back()));
                begun_.pop_back();
            } else {
                begin_game(slot, std::move(waiting_.back()));
                waiting_.pop_back();
            }
            retire(slot);  // an opening may be over already
        }
        staged_[i].vacant = !slot.playing;
    }
}

// Plays on until the slot has leaves for this evaluator, or needs another one.
void Pool::walk(Slot& slot, std::uint8_t evaluator) {
    slot.staged.clear();
    for (int playouts = 0; playouts < MAX_PLAYOUTS_PER_GATHER && slot.staged.size() < leaves_per_slot_;) {
        if (slot.finished) return;
        if (player(slot).at_random) {
            finish_search(slot);
            continue;
        }
        if (evaluator_of(slot) != evaluator) return;
        if (slot.search.done()) {
            finish_search(slot);
            continue;
        }
        if (!slot.search.wants_playout()) return;
        ++playouts;
        const Playout playout = slot.search.playout();
        if (playout == Playout::BLOCKED) return;
        if (playout == Playout::LEAF) slot.staged.push_back(slot.search.last_leaf());
    }
}

std::uint64_t Pool::gather(std::size_t lane, std::uint8_t evaluator, const Place& place) {
    const std::size_t first = slots_.size() * lane / lanes_, last = slots_.size() * (lane + 1) / lanes_;
    refill(first, last);
    // 1. Every game of the lane walks to its leaves.
    threads_->each(last - first, [&](std::size_t i) {
        Slot& slot = slots_[first + i];
        Staged& staged = staged_[first + i];
        slot.staged.clear();
        if (slot.playing && !slot.finished) walk(slot, evaluator);
        staged.leaves = static_cast<std::uint16_t>(slot.staged.size());
        staged.most_moves = 0;
        for (const std::uint32_t leaf : slot.staged)
            staged.most_moves =
                std::max(staged.most_moves, static_cast<std::uint16_t>(slot.search.leaf_edges(leaf).size()));
        staged.vacant = !slot.playing || slot.finished;
    });
    // 2. The leaves become rows, in the order of the slots.
    std::size_t size = 0, most_moves = 0;
    for (std::size_t i = first; i < last; ++i) {
        staged_[i].first_row = static_cast<std::uint32_t>(size);
        size += staged_[i].leaves;
        most_moves = std::max<std::size_t>(most_moves, staged_[i].most_moves);
    }
    if (!size) return 0;
    Ticket ticket{next_ticket_, std::vector<Row>(size)};
    const LeafRows rows = place(size, most_moves);
    threads_->each(last - first, [&](std::size_t i) {
        const Slot& slot = slots_[first + i];
        std::uint32_t row = staged_[first + i].first_row;
        for (const std::uint32_t leaf : slot.staged) {
            ticket.rows[row] = {static_cast<std::uint32_t>(first + i), leaf};
            rows.write(row++, *config_.variant, slot.search, leaf);
        }
    });
    tickets_.push_back(std::move(ticket));
    return next_ticket_++;
}

LeafBatch Pool::gather(std::size_t lane, std::uint8_t evaluator) {
    LeafBatch batch(0, encoding_);
    const std::uint64_t ticket = gather(lane, evaluator, [&](std::size_t size, std::size_t) {
        batch = LeafBatch(size, encoding_);
        return batch.rows();
    });
    batch.ticket = ticket;
    return batch;
}

std::vector<Pool::Row> Pool::close(std::uint64_t id) {
    const auto found =
        std::find_if(tickets_.begin(), tickets_.end(), [&](const Ticket& each) { return each.id == id; });
    if (found == tickets_.end())
        throw Error("SearchError", "ticket " + std::to_string(id) + " is not open", std::to_string(id));
    std::vector<Row> rows = std::move(found->rows);
    tickets_.erase(found);
    return rows;
}

// Rows of one slot lie side by side and are worked on by one thread.
void Pool::each_slot(const std::vector<Row>& rows, const std::function<void(Search&, std::size_t row)>& work) {
    std::vector<std::size_t> begins;
    for (std::size_t row = 0; row < rows.size(); ++row)
        if (!row || rows[row].slot != rows[row - 1].slot) begins.push_back(row);
    begins.push_back(rows.size());
    threads_->each(begins.size() - 1, [&](std::size_t i) {
        for (std::size_t row = begins[i]; row < begins[i + 1]; ++row) work(slots_[rows[row].slot].search, row);
    });
}

void Pool::apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl) {
    const auto open =
        std::find_if(tickets_.begin(), tickets_.end(), [&](const Ticket& each) { return each.id == ticket; });
    if (open != tickets_.end() && open->rows.size() != size)
        throw Error("SearchError",
                    "ticket " + std::to_string(ticket) + " has " + std::to_string(open->rows.size()) + " rows, not " +
                        std::to_string(size),
                    std::to_string(size));
    const std::vector<Row> rows = close(ticket);
    each_slot(rows, [&](Search& search, std::size_t row) {
        search.apply(rows[row].leaf, {priors + row * stride, stride}, wdl + row * 3);
    });
}

void Pool::apply(std::uint64_t ticket, NativeEvaluator evaluator) {
    const std::vector<Row> rows = close(ticket);
    each_slot(rows, [&](Search& search, std::size_t row) { search.answer(rows[row].leaf, evaluator); });
}

void Pool::run(NativeEvaluator evaluator) {
    while (!done()) {
        refill(0, slots_.size());
        threads_->each(slots_.size(), [&](std::size_t i) {
            Slot& slot = slots_[i];
            while (slot.playing && !slot.finished) {
                if (!player(slot).at_random) slot.search.run(evaluator);
                finish_search(slot);
            }
            staged_[i].vacant = true;
        });
        refill(0, slots_.size());
    }
}

bool Pool::done() const {
    return waiting_.empty() && begun_.empty() &&
           std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.playing && !slot.finished; });
}

std::vector<GameRecord> Pool::drain() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        retire(slots_[i]);
        staged_[i].vacant = !slots_[i].playing;
    }
    std::vector<GameRecord> drained = std::move(finished_);
    finished_.clear();
    std::sort(drained.begin(), drained.end(), [](const GameRecord& a, const GameRecord& b) { return a.id < b.id; });
    return drained;
}

std::vector<GameRecord> Pool::in_flight() const {
    std::vector<GameRecord> games;
    for (const Slot& slot : slots_)
        if (slot.playing && !slot.finished) games.push_back(slot.record);
    games.insert(games.end(), begun_.begin(), begun_.end());
    std::sort(games.begin(), games.end(), [](const GameRecord& a, const GameRecord& b) { return a.id < b.id; });
    return games;
}

std::size_t Pool::finished() const {
    return finished_.size() + static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(),
                                                                     [](const Slot& slot) { return slot.finished; }));
}

std::uint64_t Pool::playouts() const {
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.playouts;
    return sum;
}

std::uint64_t Pool::plies() const {
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.plies;
    return sum;
}

}  // namespace selfmate
