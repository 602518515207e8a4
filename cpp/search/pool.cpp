#include "search/pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "util/error.h"

namespace selfmate {
namespace {

// What random numbers are drawn for.
enum Purpose : std::uint64_t { OPENING = 1, CAP, SEARCH, CHOICE };

// Playouts that end in the rules cost nothing to evaluate, but must not keep other leaves of the game waiting.
constexpr int MAX_PLAYOUTS_PER_WALK = 64;

// Small batches that are on their way to a device at most: while it computes one, the next is there. Leaves that come
// later are in larger batches if they wait for each other.
constexpr std::size_t SMALL_BATCHES = 2;
// So many leaves are missing in a batch that is full enough, as its share.
constexpr std::size_t FEW_SHARE = 64;

}  // namespace

Pool::Pool(const PoolConfig& config, std::vector<Seat> seats, std::size_t slots, std::size_t lanes, int threads,
           std::size_t leaves_per_slot, std::size_t batch)
    : config_(config),
      seats_(std::move(seats)),
      has_outside_(std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.outside; })),
      encoding_(encoding_of(*config.variant)),
      lanes_(lanes),
      leaves_per_slot_(leaves_per_slot),
      batch_(batch ? std::max(batch, leaves_per_slot) : slots * leaves_per_slot),
      slots_(slots),
      staged_(slots),
      threads_(std::make_unique<Threads>(threads)) {}

void Pool::add(std::vector<Fixture> fixtures) {
    for (const Fixture& fixture : fixtures) {
        if (const std::size_t seat = std::max(fixture.white_seat, fixture.black_seat); seat >= seats_.size())
            throw Error("SearchError",
                        "no seat " + std::to_string(seat) + "; there are " + std::to_string(seats_.size()),
                        std::to_string(seat));
        if (!fixture.start_fen.empty())
            validate(parse_fen(*config_.variant, config_.chess960, fixture.start_fen), false);
    }
    const std::lock_guard lock(mutex_);
    std::reverse(fixtures.begin(), fixtures.end());
    fixtures.insert(fixtures.end(), waiting_.begin(), waiting_.end());
    waiting_ = std::move(fixtures);
    tell_news();
}

void Pool::resume(std::vector<GameRecord> games) {
    for (const GameRecord& game : games) {
        if (game.variant != config_.variant || game.chess960 != config_.chess960)
            throw Error(
                "RecordError",
                "a game of " + std::string(game.variant->name) + " in a pool of " + std::string(config_.variant->name),
                game.variant->name);
        if (const std::size_t seat = std::max(game.white_seat, game.black_seat); seat >= seats_.size())
            throw Error("RecordError", "no seat " + std::to_string(seat), std::to_string(seat));
    }
    const std::lock_guard lock(mutex_);
    begun_.insert(begun_.end(), std::make_move_iterator(games.rbegin()), std::make_move_iterator(games.rend()));
    tell_news();
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
        slot.record.white_seat = slot.fixture.white_seat;
        slot.record.black_seat = slot.fixture.black_seat;
        Random random(config_.seed, slot.fixture.id, attempt, OPENING);
        const std::uint32_t plies = random.below(config_.random_plies + 1);
        bool ended = false;
        for (std::uint32_t ply = 0; ply < plies && !ended; ++ply) {
            MoveList moves;
            variant.legal_moves(slot.state, moves);
            ended = !moves.size();
            if (!ended) play(slot, moves[random.below(static_cast<std::uint32_t>(moves.size()))], std::nullopt);
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

// The search of the present position begins anew, with the same random numbers, so that the game is the one that it
// would have been.
void Pool::take_up(Slot& slot, GameRecord record) {
    slot.fixture = {record.id, {}, record.white_seat, record.black_seat};
    slot.playing = true;
    slot.finished = false;
    slot.state = validate(parse_fen(*config_.variant, config_.chess960, record.start_fen), false);
    slot.keys.clear();
    const std::vector<Move> moves = std::exchange(record.moves, {});
    std::vector<Score> scores = std::exchange(record.scores, {});
    scores.resize(moves.size());
    slot.record = std::move(record);
    for (std::size_t ply = 0; ply < moves.size(); ++ply) play(slot, moves[ply], scores[ply]);
    go_on(slot);
}

// A move was played: see whether the game is over.
void Pool::go_on(Slot& slot) {
    const Color mover = ~slot.state.turn;
    slot.record.outcome = outcome(slot);
    if (!slot.record.outcome)
        if (const auto end = end_by_score(config_.rules, slot.record.scores, mover,
                                          slot.state.fullmove_number - std::uint32_t(mover == BLACK))) {
            slot.record.outcome = Outcome{Termination::ADJUDICATED, end->winner};
            slot.record.ending = end->reason;
        }
    if (slot.record.outcome || slot.record.moves.size() >= config_.max_plies)
        slot.finished = true;
    else
        begin_search(slot);
}

void Pool::begin_search(Slot& slot) {
    const Seat& mover = seat(slot);
    if (mover.outside) {
        slot.awaited = true;
        slot.announced = false;
        return;
    }
    const std::uint64_t ply = slot.record.moves.size();
    slot.full = Random(config_.seed, slot.fixture.id, ply, CAP).uniform() < config_.full_probability;
    const std::size_t reach = std::min<std::size_t>(slot.state.halfmove_clock, slot.keys.size());
    const bool forced = config_.variant->count_moves(slot.state) == 1;  // nothing to choose
    const std::uint32_t visits = slot.full ? mover.visits : config_.fast_visits;
    slot.search.begin(*config_.variant, slot.state, std::span(slot.keys).last(reach), mover.search, forced ? 1 : visits,
                      Random(config_.seed, slot.fixture.id, ply, SEARCH).bits());
}

void Pool::play(Slot& slot, Move move, Score score) {
    slot.keys.push_back(slot.state.key);
    slot.record.moves.push_back(move);
    slot.record.scores.push_back(score);
    config_.variant->play(slot.state, move);
}

// Play loops claim every draw there is.
std::optional<Outcome> Pool::outcome(const Slot& slot) const {
    return selfmate::outcome(*config_.variant, slot.state, slot.keys, true);
}

// The search is done: record what it found, and play its move.
void Pool::finish_search(Slot& slot) {
    const std::uint64_t ply = slot.record.moves.size();
    Random random(config_.seed, slot.fixture.id, ply, CHOICE);
    const Search& search = slot.search;
    if (seat(slot).at_random()) {
        MoveList moves;
        config_.variant->legal_moves(slot.state, moves);
        play(slot, moves[random.below(static_cast<std::uint32_t>(moves.size()))], std::nullopt);
    } else {
        const Node& root = search.root();
        const float value = root.proof.known() ? root.proof.value() : root.value;
        if (slot.full && root.edges > 1) {
            TrainedPosition position{static_cast<std::uint16_t>(ply), value, root.net_value, {}};
            for (const MoveStats& stats : search.moves())
                if (stats.visits || stats.weight > 1e-4f)
                    position.targets.push_back({stats.move, stats.visits, stats.weight});
            slot.record.positions.push_back(std::move(position));
        }
        const double temperature = ply < config_.temperature_plies ? config_.temperature : 0;
        slot.playouts += search.visits();
        ++slot.plies;
        play(slot, search.root_move(search.sample(temperature, random)), centipawns(value));
    }
    go_on(slot);
}

// ---- the machine -------------------------------------------------------------------------------

void Pool::retire(Slot& slot) {
    if (!slot.finished) return;
    finished_.push_back(std::move(slot.record));
    slot.finished = slot.playing = false;
}

// Games begin in the order of their ids, so that the limit stays where it is while some do.
std::uint64_t Pool::next_id_limit() const {
    if (!config_.ahead || waiting_.empty()) return ~std::uint64_t(0);
    std::uint64_t oldest = waiting_.back().id;
    for (const Slot& slot : slots_)
        if (slot.playing && !slot.finished) oldest = std::min(oldest, slot.fixture.id);
    return oldest + config_.ahead;
}

bool Pool::may_begin(std::uint64_t id_limit) const {
    return !begun_.empty() || (!waiting_.empty() && waiting_.back().id < id_limit);
}

void Pool::refill() {
    const std::uint64_t id_limit = next_id_limit();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!staged_[i].vacant || (!staged_[i].over && !may_begin(id_limit))) continue;
        Slot& slot = slots_[i];
        retire(slot);
        while (!slot.playing && may_begin(id_limit)) {
            if (!begun_.empty()) {
                take_up(slot, std::move(begun_.back()));
                begun_.pop_back();
            } else {
                begin_game(slot, std::move(waiting_.back()));
                waiting_.pop_back();
            }
            retire(slot);  // an opening may be over already
        }
        note(i);
    }
}

void Pool::note(std::size_t index) {
    const Slot& slot = slots_[index];
    Staged& staged = staged_[index];
    staged.over = slot.finished;
    staged.vacant = !slot.playing || slot.finished;
    staged.wants = staged.vacant || slot.awaited ? NOBODY
                   : seat(slot).at_random()      ? ANYBODY
                                                 : std::int16_t(seat(slot).evaluator);
}

// Plays on until the game has leaves for an evaluator, or needs a move from outside, or is over.
void Pool::walk(std::size_t index) {
    Slot& slot = slots_[index];
    slot.staged.clear();
    const auto needs_others = [&] { return slot.finished || slot.awaited; };
    while (slot.staged.empty() && !needs_others()) {
        for (int playouts = 0; playouts < MAX_PLAYOUTS_PER_WALK && slot.staged.size() < leaves_per_slot_;) {
            if (needs_others()) break;
            if (seat(slot).at_random() || slot.search.done()) {
                finish_search(slot);
                continue;
            }
            if (!slot.search.wants_playout()) break;
            ++playouts;
            const Playout playout = slot.search.playout();
            if (playout == Playout::BLOCKED) break;
            if (playout == Playout::LEAF) slot.staged.push_back(slot.search.last_leaf());
        }
    }
    Staged& staged = staged_[index];
    staged.leaves = static_cast<std::uint16_t>(slot.staged.size());
    staged.most_moves = 0;
    for (const std::uint32_t leaf : slot.staged)
        staged.most_moves =
            std::max(staged.most_moves, static_cast<std::uint16_t>(slot.search.leaf_edges(leaf).size()));
    note(index);
}

// Games that begin, or to which a move from outside came, walk to their leaves; all others did when their answers came.
void Pool::walk_new() {
    turn_.clear();
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (!staged_[i].leaves && staged_[i].wants != NOBODY) turn_.push_back(static_cast<std::uint32_t>(i));
    if (turn_.empty()) return;
    threads_->each(turn_.size(), [&](std::size_t k) { walk(turn_[k]); });
    tell_news();
}

// Leaves that the next gather gives at most.
std::size_t Pool::most_rows() const {
    if (config_.greedy) return lane_rows();
    const auto searching = static_cast<std::size_t>(
        std::count_if(staged_.begin(), staged_.end(), [](const Staged& staged) { return staged.wants != NOBODY; }));
    return std::min(lane_rows(), (searching + lanes_ - 1) / lanes_ * leaves_per_slot_);
}

// Whether so many leaves are a batch now, or others are waited for.
bool Pool::enough(std::size_t leaves) const {
    const std::size_t full = lane_rows() - lane_rows() / FEW_SHARE;
    return leaves && (!config_.greedy || tickets_.size() < SMALL_BATCHES || leaves + leaves_per_slot_ > full);
}

std::uint64_t Pool::gather(std::uint8_t evaluator, const Place& place) {
    const std::lock_guard lock(mutex_);
    refill();
    walk_new();
    // 1. Games whose leaves wait for this evaluator, in turn as many as there is room for
    const std::size_t most = most_rows();
    std::size_t size = 0, most_moves = 0, looked = 0;
    turn_.clear();
    for (; looked < slots_.size() && size + leaves_per_slot_ <= most; ++looked) {
        const std::size_t i = (next_ + looked) % slots_.size();
        Staged& staged = staged_[i];
        if (staged.out || !staged.leaves || staged.wants != evaluator) continue;
        turn_.push_back(static_cast<std::uint32_t>(i));
        staged.first_row = static_cast<std::uint32_t>(size);
        size += staged.leaves;
        most_moves = std::max<std::size_t>(most_moves, staged.most_moves);
    }
    if (!enough(size)) return 0;
    // 2. The leaves become rows.
    Ticket ticket{next_ticket_, std::vector<Row>(size)};
    const LeafRows rows = place(size, most_moves);
    next_ = (next_ + looked) % slots_.size();
    threads_->each(turn_.size(), [&](std::size_t k) {
        const Slot& slot = slots_[turn_[k]];
        std::uint32_t row = staged_[turn_[k]].first_row;
        staged_[turn_[k]].out = true;
        for (const std::uint32_t leaf : slot.staged) {
            ticket.rows[row] = {turn_[k], leaf};
            rows.write(row++, *config_.variant, slot.search, leaf);
        }
    });
    tickets_.push_back(std::move(ticket));
    return next_ticket_++;
}

LeafBatch Pool::gather(std::uint8_t evaluator) {
    LeafBatch batch(0, encoding_);
    const std::uint64_t ticket = gather(evaluator, [&](std::size_t size, std::size_t) {
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

// Rows of one slot lie side by side and are worked on by one thread, which then lets the game walk on: what it needs of
// the tree is at hand.
void Pool::each_slot(const std::vector<Row>& rows, const std::function<void(Search&, std::size_t row)>& work) {
    std::vector<std::size_t> begins;
    for (std::size_t row = 0; row < rows.size(); ++row)
        if (!row || rows[row].slot != rows[row - 1].slot) begins.push_back(row);
    begins.push_back(rows.size());
    threads_->each(begins.size() - 1, [&](std::size_t i) {
        const std::size_t slot = rows[begins[i]].slot;
        for (std::size_t row = begins[i]; row < begins[i + 1]; ++row) work(slots_[slot].search, row);
        staged_[slot].out = false;
        walk(slot);
    });
    tell_news();
}

void Pool::apply(std::uint64_t ticket, std::size_t size, const float* priors, std::size_t stride, const float* wdl) {
    const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(mutex_);
    const std::vector<Row> rows = close(ticket);
    each_slot(rows, [&](Search& search, std::size_t row) { search.answer(rows[row].leaf, evaluator); });
}

void Pool::run(NativeEvaluator evaluator) {
    if (has_outside_) throw Error("SearchError", "somebody sits outside, whose moves nobody would bring", "outside");
    const std::lock_guard lock(mutex_);
    while (!is_done()) {
        refill();
        threads_->each(slots_.size(), [&](std::size_t i) {
            Slot& slot = slots_[i];
            while (slot.playing && !slot.finished) {
                if (!seat(slot).at_random()) slot.search.run(evaluator);
                finish_search(slot);
            }
            note(i);
        });
        refill();
    }
}

// ---- moves from outside ------------------------------------------------------------------------

std::vector<Awaited> Pool::awaiting(double seconds) {
    std::unique_lock lock(mutex_);
    std::vector<Awaited> games;
    const auto look = [&] {
        for (std::size_t i = 0; i < slots_.size(); ++i)
            if (Slot& slot = slots_[i]; slot.playing && slot.awaited && !slot.announced) {
                slot.announced = true;
                games.push_back({i, slot.fixture.id, slot.record.start_fen, slot.record.moves});
            }
        return !games.empty();
    };
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), look);
    return games;
}

Pool::Slot& Pool::awaited_slot(std::size_t slot) {
    if (slot >= slots_.size() || !slots_[slot].playing || !slots_[slot].announced)
        throw Error("SearchError", "no game in slot " + std::to_string(slot) + " waits for a move from outside",
                    std::to_string(slot));
    return slots_[slot];
}

void Pool::play(std::size_t index, Move move, Score score) {
    const std::lock_guard lock(mutex_);
    Slot& slot = awaited_slot(index);
    Position position(parse_fen(*config_.variant, config_.chess960, slot.record.start_fen), false);
    for (const Move played : slot.record.moves) position.play(played);
    play(slot, position.normalise(move), score);
    slot.awaited = slot.announced = false;
    go_on(slot);
    note(index);
    tell_news();
}

void Pool::forfeit(std::size_t index, std::optional<Winner> winner, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    Slot& slot = awaited_slot(index);
    slot.awaited = slot.announced = false;
    if (winner) slot.record.outcome = Outcome{Termination::ADJUDICATED, *winner};
    slot.record.ending = reason;
    slot.finished = true;
    note(index);
    tell_news();
}

bool Pool::idle() const {
    const std::lock_guard lock(mutex_);
    const bool more = may_begin(next_id_limit());
    std::vector<std::size_t> leaves(evaluators());
    for (const Staged& staged : staged_) {
        if (staged.vacant ? more : staged.wants != NOBODY && !staged.leaves) return false;
        if (staged.leaves && !staged.out) leaves[static_cast<std::size_t>(staged.wants)] += staged.leaves;
    }
    return std::none_of(leaves.begin(), leaves.end(), [&](std::size_t each) { return enough(each); });
}

void Pool::tell_news() {
    ++news_;
    changed_.notify_all();
}

std::vector<std::size_t> Pool::waiting() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> counts(evaluators());
    for (const Staged& staged : staged_)
        if (!staged.out && staged.wants >= 0) ++counts[static_cast<std::size_t>(staged.wants)];
    return counts;
}

std::uint64_t Pool::news() const {
    const std::lock_guard lock(mutex_);
    return news_;
}

void Pool::wait(std::uint64_t seen, double seconds) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return news_ != seen; });
}

// ---- what is there -----------------------------------------------------------------------------

bool Pool::done() const {
    const std::lock_guard lock(mutex_);
    return is_done();
}

bool Pool::is_done() const {
    return waiting_.empty() && begun_.empty() &&
           std::all_of(staged_.begin(), staged_.end(), [](const Staged& staged) { return staged.vacant; });
}

std::size_t Pool::evaluators() const {
    std::size_t count = 0;
    for (const Seat& seat : seats_)
        if (seat.visits) count = std::max(count, seat.evaluator + std::size_t(1));
    return count;
}

std::vector<GameRecord> Pool::drain() {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!staged_[i].over) continue;
        retire(slots_[i]);
        note(i);
    }
    std::vector<GameRecord> drained = std::move(finished_);
    finished_.clear();
    std::sort(drained.begin(), drained.end(), [](const GameRecord& a, const GameRecord& b) { return a.id < b.id; });
    return drained;
}

std::vector<GameRecord> Pool::in_flight() const {
    const std::lock_guard lock(mutex_);
    std::vector<GameRecord> games;
    for (const Slot& slot : slots_)
        if (slot.playing && !slot.finished) games.push_back(slot.record);
    games.insert(games.end(), begun_.begin(), begun_.end());
    std::sort(games.begin(), games.end(), [](const GameRecord& a, const GameRecord& b) { return a.id < b.id; });
    return games;
}

std::size_t Pool::finished() const {
    const std::lock_guard lock(mutex_);
    return finished_.size() + static_cast<std::size_t>(std::count_if(staged_.begin(), staged_.end(),
                                                                     [](const Staged& staged) { return staged.over; }));
}

std::uint64_t Pool::playouts() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.playouts;
    return sum;
}

std::uint64_t Pool::plies() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.plies;
    return sum;
}

}  // namespace selfmate
