// Queues, slots, external moves and the state of a pool.
#include "search/pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "util/error.h"

namespace selfmate {
namespace {

void sort_by_id(std::vector<GameRecord>& games) {
    std::sort(games.begin(), games.end(), [](const GameRecord& a, const GameRecord& b) { return a.id < b.id; });
}

}  // namespace

Pool::Pool(const PoolConfig& config, std::vector<Seat> seats)
    : config_(config),
      seats_(std::move(seats)),
      encoding_(encoding_of(*config.variant)),
      batch_(config.batch ? std::max(config.batch, config.leaves_per_slot) : config.slots * config.leaves_per_slot),
      slots_(config.slots),
      summaries_(config.slots),
      threads_(std::make_unique<Threads>(config.threads)) {
    for (Seat& seat : seats_) {
        if (seat.encoding.is_default()) seat.encoding = encoding_;
        if (seat.encoding.variant != encoding_.variant)
            throw Error("SearchError",
                        "an encoding of " + std::string(seat.encoding.variant) + " in a pool of " +
                            std::string(encoding_.variant),
                        seat.encoding.variant);
        if (seat.visits && seat.encoding != encoding(seat.evaluator))
            throw Error("SearchError", "evaluator " + std::to_string(seat.evaluator) + " has two encodings",
                        std::to_string(seat.evaluator));
        seen_past_ = std::max(seen_past_, static_cast<std::size_t>(seat.encoding.history - 1));
    }
}

const Encoding& Pool::encoding(std::uint8_t evaluator) const {
    for (const Seat& seat : seats_)
        if (seat.visits && seat.evaluator == evaluator) return seat.encoding;
    return encoding_;
}

void Pool::add(std::vector<GameSpec> games) {
    for (const GameSpec& game : games) {
        if (const std::size_t seat = std::max(game.white_seat, game.black_seat); seat >= seats_.size())
            throw Error("SearchError",
                        "no seat " + std::to_string(seat) + "; there are " + std::to_string(seats_.size()),
                        std::to_string(seat));
        if (!game.start_fen.empty()) validate(parse_fen(*config_.variant, config_.chess960, game.start_fen), false);
    }
    const std::lock_guard lock(mutex_);
    std::reverse(games.begin(), games.end());
    games.insert(games.end(), game_queue_.begin(), game_queue_.end());
    game_queue_ = std::move(games);
    count_event();
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
    resume_queue_.insert(resume_queue_.end(), std::make_move_iterator(games.rbegin()),
                         std::make_move_iterator(games.rend()));
    count_event();
}

void Pool::configure(const SearchConfig& search, const SelfPlayConfig& selfplay) {
    const std::lock_guard lock(mutex_);
    config_.selfplay = selfplay;
    seats_[0].search = search;
    seats_[0].visits = selfplay.visits;
    ++epoch_;
}

void Pool::set_temperature_by_move(std::vector<TemperatureStep> steps) {
    const std::lock_guard lock(mutex_);
    temperature_steps_ = std::move(steps);
}

// ---- slots -------------------------------------------------------------------------------------

void Pool::retire(Slot& slot) {
    if (!slot.finished) return;
    finished_.push_back(std::move(slot.record));
    slot.finished = slot.playing = false;
}

// Returns the id below which games may begin. Games begin in the order of their ids, so the limit does not change while
// slots are refilled.
std::uint64_t Pool::next_id_limit() const {
    if (!config_.max_id_lead || game_queue_.empty()) return ~std::uint64_t(0);
    std::uint64_t oldest = game_queue_.back().id;
    for (const Slot& slot : slots_)
        if (slot.playing && !slot.finished) oldest = std::min(oldest, slot.game.id);
    return oldest + config_.max_id_lead;
}

bool Pool::may_begin_game(std::uint64_t id_limit) const {
    return !resume_queue_.empty() || (!game_queue_.empty() && game_queue_.back().id < id_limit);
}

void Pool::refill_slots() {
    const std::uint64_t id_limit = next_id_limit();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!summaries_[i].vacant || (!summaries_[i].finished && !may_begin_game(id_limit))) continue;
        Slot& slot = slots_[i];
        retire(slot);
        while (!slot.playing && may_begin_game(id_limit)) {
            if (!resume_queue_.empty()) {
                resume_game(slot, std::move(resume_queue_.back()));
                resume_queue_.pop_back();
            } else {
                begin_game(slot, std::move(game_queue_.back()));
                game_queue_.pop_back();
            }
            retire(slot);  // the start position may be the end of the game
        }
        update_summary(i);
    }
}

void Pool::update_summary(std::size_t index) {
    const Slot& slot = slots_[index];
    SlotSummary& summary = summaries_[index];
    summary.finished = slot.finished;
    summary.vacant = !slot.playing || slot.finished;
    summary.evaluator = summary.vacant || slot.needs_external_move ? NOT_SEARCHING
                        : mover(slot).plays_random_moves()         ? RANDOM_MOVE
                                                                   : std::int16_t(mover(slot).evaluator);
}

// ---- external moves ----------------------------------------------------------------------------

std::vector<MoveRequest> Pool::take_move_requests(double seconds) {
    std::unique_lock lock(mutex_);
    std::vector<MoveRequest> requests;
    const auto take = [&] {
        for (std::size_t i = 0; i < slots_.size(); ++i)
            if (Slot& slot = slots_[i]; slot.playing && slot.needs_external_move && !slot.request_taken) {
                slot.request_taken = true;
                requests.push_back(
                    {.slot = i, .id = slot.game.id, .start_fen = slot.record.start_fen, .moves = slot.record.moves});
            }
        return !requests.empty();
    };
    event_.wait_for(lock, std::chrono::duration<double>(seconds), take);
    return requests;
}

Pool::Slot& Pool::requested_slot(std::size_t slot) {
    if (slot >= slots_.size() || !slots_[slot].playing || !slots_[slot].request_taken)
        throw Error("SearchError",
                    "no game in slot " + std::to_string(slot) + " waits for a move of an external player",
                    std::to_string(slot));
    return slots_[slot];
}

void Pool::play(std::size_t index, Move move, Score score) {
    const std::lock_guard lock(mutex_);
    Slot& slot = requested_slot(index);
    make_move(slot, normalise(*config_.variant, config_.chess960, slot.state, move), score);
    slot.needs_external_move = slot.request_taken = false;
    end_or_continue(slot);
    update_summary(index);
    count_event();
}

void Pool::forfeit(std::size_t index, std::optional<Winner> winner, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    Slot& slot = requested_slot(index);
    slot.needs_external_move = slot.request_taken = false;
    if (winner) slot.record.outcome = Outcome{Termination::ADJUDICATED, *winner};
    slot.record.referee_reason = reason;
    slot.finished = true;
    update_summary(index);
    count_event();
}

// ---- state of the pool -------------------------------------------------------------------------

bool Pool::idle() const {
    const std::lock_guard lock(mutex_);
    const bool may_begin = may_begin_game(next_id_limit());
    std::vector<std::size_t> leaves(evaluators());
    for (const SlotSummary& summary : summaries_) {
        if (summary.vacant ? may_begin : summary.evaluator != NOT_SEARCHING && !summary.leaves) return false;
        if (summary.leaves && !summary.in_batch) leaves[static_cast<std::size_t>(summary.evaluator)] += summary.leaves;
    }
    return std::none_of(leaves.begin(), leaves.end(), [&](std::size_t count) { return is_batch_due(count); });
}

void Pool::count_event() {
    ++event_count_;
    event_.notify_all();
}

std::uint64_t Pool::event_count() const {
    const std::lock_guard lock(mutex_);
    return event_count_;
}

void Pool::wait_for_event(std::uint64_t seen, double seconds) const {
    std::unique_lock lock(mutex_);
    event_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return event_count_ != seen; });
}

std::vector<std::size_t> Pool::games_to_evaluate() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> counts(evaluators());
    for (const SlotSummary& summary : summaries_)
        if (!summary.in_batch && summary.evaluator >= 0) ++counts[static_cast<std::size_t>(summary.evaluator)];
    return counts;
}

bool Pool::done() const {
    const std::lock_guard lock(mutex_);
    return is_done();
}

bool Pool::is_done() const {
    return game_queue_.empty() && resume_queue_.empty() &&
           std::all_of(summaries_.begin(), summaries_.end(), [](const SlotSummary& summary) { return summary.vacant; });
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
        if (!summaries_[i].finished) continue;
        retire(slots_[i]);
        update_summary(i);
    }
    std::vector<GameRecord> drained = std::move(finished_);
    finished_.clear();
    sort_by_id(drained);
    return drained;
}

std::vector<GameRecord> Pool::unfinished_games(std::size_t most) const {
    const std::lock_guard lock(mutex_);
    // Records are large, and the lanes wait for the lock: only those that are returned are copied.
    std::vector<const GameRecord*> found;
    for (const Slot& slot : slots_)
        if (slot.playing && !slot.finished) found.push_back(&slot.record);
    for (const GameRecord& record : resume_queue_) found.push_back(&record);
    std::sort(found.begin(), found.end(), [](const GameRecord* a, const GameRecord* b) { return a->id < b->id; });
    if (found.size() > most) found.resize(most);
    std::vector<GameRecord> games;
    games.reserve(found.size());
    for (const GameRecord* record : found) {
        games.push_back(*record);
        games.back().with_scores = config_.selfplay.resign > 0;
    }
    return games;
}

std::size_t Pool::finished_games() const {
    const std::lock_guard lock(mutex_);
    const auto in_slots = std::count_if(summaries_.begin(), summaries_.end(),
                                        [](const SlotSummary& summary) { return summary.finished; });
    return finished_.size() + static_cast<std::size_t>(in_slots);
}

std::uint64_t Pool::playouts() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.playouts;
    return sum;
}

std::uint64_t Pool::searched_plies() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.searched_plies;
    return sum;
}

}  // namespace selfmate
