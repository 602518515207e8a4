// The parameters of a search and of self-play. Each is declared once: its type and default in the struct, its range and
// help in the struct's `fields()`. The bindings, the keys of a recipe, their error messages and
// docs/recipes.md are made from these tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>

namespace selfmate {

enum class Use {
    RECIPE,           // also a key of recipes
    REQUIRED_RECIPE,  // likewise, and without a default
    CODE,             // set by callers only
};

// A field of a config struct. Numbers lie in [minimum, maximum], or in (minimum, maximum]. An enum has a name for each
// of its values, which count from 0.
template <class Config, class T>
struct FieldOf {
    const char* name;
    T Config::* member;
    T minimum, maximum;
    bool above_minimum;
    Use use;
    const char* help;
    std::span<const char* const> choices{};

    constexpr bool contains(T value) const {
        return (above_minimum ? value > minimum : value >= minimum) && value <= maximum;
    }
};

// In [minimum, maximum].
template <class Config, class T>
constexpr FieldOf<Config, T> within(const char* name, T Config::* member, std::type_identity_t<T> minimum,
                                    std::type_identity_t<T> maximum, Use use, const char* help) {
    return {name, member, minimum, maximum, false, use, help};
}

// In (0, maximum].
template <class Config, class T>
constexpr FieldOf<Config, T> positive(const char* name, T Config::* member, std::type_identity_t<T> maximum, Use use,
                                      const char* help) {
    return {name, member, T(0), maximum, true, use, help};
}

template <class Config>
constexpr FieldOf<Config, bool> flag(const char* name, bool Config::* member, Use use, const char* help) {
    return {name, member, false, true, false, use, help};
}

// One of the named values of an enum.
template <class Config, class E, std::size_t N>
constexpr FieldOf<Config, E> choice(const char* name, E Config::* member, const char* const (&choices)[N], Use use,
                                    const char* help) {
    static_assert(std::is_enum_v<E>);
    return {name, member, E(0), E(N - 1), false, use, help, choices};
}

// How selection scores the moves of a node (selection.cpp, selection_options.cpp).
enum class Select {
    PUCT,   // value + C * prior * sqrt(N) / (1 + n)
    UCB1,   // value + C * sqrt(log N / n), untried moves first; without priors
    NOISE,  // W / (n + 1) + C * d * sqrt(N / (n + 1)), d a draw of Dirichlet noise; without priors
};
inline constexpr const char* SELECT_NAMES[] = {"puct", "ucb1", "noise"};

// Which move is played at temperature 0.
enum class Choose { VISITS, VALUE };
inline constexpr const char* CHOOSE_NAMES[] = {"visits", "value"};

// One search. The defaults are those of playing.
struct SearchConfig {
    // At the root: PUCT with Dirichlet noise, or Gumbel with sequential halving and completed Q (Danihelka et al. 2022,
    // defaults of mctx).
    bool gumbel = false;
    int considered = 16;
    float gumbel_scale = 1;
    float value_scale = 0.1f;
    float maxvisit_init = 50;
    float noise_alpha = 0.3f;
    float noise_epsilon = 0;
    // Dirichlet noise also at the nodes of depth 1 to `noise_depth`, with its own concentration.
    int noise_depth = 0;
    float noise_alpha_below = 0.1f;
    Select select = Select::PUCT;
    // Inside the tree: PUCT (Silver et al. 2018) with first-play urgency: an edge without visits has the node's value
    // less `fpu_reduction` times the root of the visited prior (Lc0's 0.33).
    float cpuct = 1.25f;
    // If not 0, the exploration constant is cpuct + log((N + cpuct_base) / cpuct_base) at a node with N visits
    // (AlphaZero: cpuct 1.25, base 19652).
    float cpuct_base = 0;
    float fpu_reduction = 0.33f;
    float draw_score = 0;
    int virtual_loss = 1;
    // PUCT searches only the moves of highest prior: the first `top_k`; those with a prior of at least `tail`, and one;
    // the first widening * sqrt(N) of a node with N visits (progressive widening, Coulom 2007). 0: all. A move that is
    // proven won or lost does not count, the next one takes its place.
    int top_k = 0;
    float tail = 0;
    float widening = 0;
    // Subtracted at the root from the score of a move to a position that has occurred in the game.
    float repetition_penalty = 0;
    // End the search once a root move has more than `stop_share` of the root's visits, after `stop_min_visits` visits of
    // this search. 0: off.
    float stop_share = 0;
    std::uint32_t stop_min_visits = 100;
    // See `budget`; 0: off.
    std::uint32_t budget_moves = 0;
    std::uint32_t opening_plies = 0;
    float opening_share = 0.75f;
    // In a pool, the next search of a self-play game begins with the subtree of the move that was played.
    bool reuse = false;
    // Proofs by minimax (MCTS-Solver), and a test of each move of a new node for the end of the game. Without them the
    // end of a game is found when a playout reaches it, and backed up as any other value.
    bool solver = true;
    // The value of a node is the mean over its visits. With `minimax` this share of it is the value of its best move
    // (after Lanctot et al. 2014 and lc0 #193), at every node, so that a refutation counts at once. With `proven_means`
    // a proven move has its result in the means above it, for all its visits, and a lost one is left out of them.
    float minimax = 0;
    bool proven_means = false;
    // Stop before the visits are used up when the root is proven. Otherwise only a win in one ply, a draw or a loss
    // stops.
    bool stop_when_proven = true;
    // Size of nodes and edges above which the tree is pruned to half of it.
    std::uint64_t max_bytes = std::uint64_t(1) << 30;
    Choose choose = Choose::VISITS;
    // Play the move with the highest lower confidence bound of its value (KataGo), instead of the most visited move.
    bool lcb = false;
    // Before the first playout an alpha-beta search of so many positions looks for a forced win of the side to move
    // (forced_win.cpp); it has at most ten positions for each visit, and is left out with fewer than 400 visits. 0: off.
    std::uint32_t forced_win_nodes = 0;

    static constexpr std::uint32_t FORCED_WIN_VISITS = 400, FORCED_WIN_NODES_PER_VISIT = 10;

    static constexpr auto fields() {
        using C = SearchConfig;
        return std::make_tuple(
            flag("gumbel", &C::gumbel, Use::RECIPE, "Gumbel root (true) or PUCT with Dirichlet noise (false)"),
            within("considered", &C::considered, 1, 256, Use::RECIPE, "root moves that a Gumbel search considers"),
            within("gumbel_scale", &C::gumbel_scale, 0, 10, Use::RECIPE, "scale of the Gumbel noise"),
            within("value_scale", &C::value_scale, 0, 100, Use::CODE, "scale of completed Q values (Gumbel root)"),
            within("maxvisit_init", &C::maxvisit_init, 0, 1e6f, Use::CODE,
                   "visits added to the most visited move in the scale of completed Q values (Gumbel root)"),
            choice(
                "select", &C::select, SELECT_NAMES, Use::RECIPE,
                "selection: puct, ucb1 (no priors, untried moves first), or noise (no priors, a bonus of random size)"),
            positive("cpuct", &C::cpuct, 100, Use::RECIPE, "exploration constant of PUCT, UCB1 and the noise bonus"),
            within("cpuct_base", &C::cpuct_base, 0, 1e6f, Use::RECIPE,
                   "the constant is cpuct + log((N + base) / base) at a node with N visits; 0: cpuct alone"),
            within("fpu_reduction", &C::fpu_reduction, 0, 10, Use::RECIPE,
                   "first-play urgency: how much less than its parent an unvisited move is worth"),
            positive("noise_alpha", &C::noise_alpha, 100, Use::RECIPE,
                     "concentration of the Dirichlet noise (PUCT root; every node with select = \"noise\")"),
            within("noise_epsilon", &C::noise_epsilon, 0, 1, Use::RECIPE,
                   "share of Dirichlet noise in the priors (PUCT root)"),
            within("noise_depth", &C::noise_depth, 0, 64, Use::RECIPE,
                   "plies below the root down to which priors also have noise_epsilon of noise"),
            positive("noise_alpha_below", &C::noise_alpha_below, 100, Use::RECIPE,
                     "concentration of the Dirichlet noise below the root"),
            within("draw_score", &C::draw_score, -1, 1, Use::RECIPE,
                   "value of a draw inside the search, for the side to move at the root"),
            within("virtual_loss", &C::virtual_loss, 0, 1000, Use::RECIPE,
                   "losses that selection counts for each playout in flight"),
            within("top_k", &C::top_k, 0, 512, Use::RECIPE, "moves of highest prior that a node searches; 0: all"),
            within("tail", &C::tail, 0, 1, Use::RECIPE, "moves with a smaller prior are not searched; 0: all are"),
            within("widening", &C::widening, 0, 1000, Use::RECIPE,
                   "progressive widening: a node with N visits searches widening * sqrt(N) moves; 0: all"),
            within("repetition_penalty", &C::repetition_penalty, 0, 2, Use::RECIPE,
                   "taken in self-play from the score of a root move that repeats a position of the game"),
            within("stop_share", &C::stop_share, 0, 1, Use::RECIPE,
                   "end a search once a move has more than this share of the visits; 0: off"),
            within("stop_min_visits", &C::stop_min_visits, 1, 1'000'000, Use::RECIPE,
                   "visits before stop_share ends a search"),
            within("budget_moves", &C::budget_moves, 0, 512, Use::RECIPE,
                   "a position with m legal moves gets budget_moves / m of the visits, half to double; 0: all alike"),
            within("opening_plies", &C::opening_plies, 0, 10'000, Use::RECIPE,
                   "plies of a game with opening_share of the visits"),
            positive("opening_share", &C::opening_share, 1, Use::RECIPE, "share of the visits in the opening_plies"),
            flag("reuse", &C::reuse, Use::RECIPE, "begin a search of self-play with the subtree of the played move"),
            flag("solver", &C::solver, Use::RECIPE,
                 "prove results by minimax, and look one move ahead for the end of the game"),
            within("minimax", &C::minimax, 0, 1, Use::RECIPE,
                   "share of the best move's value in the value of a position; the rest is the mean over its visits"),
            flag("proven_means", &C::proven_means, Use::RECIPE,
                 "correct means when a move is proven: its result counts for all its visits, a lost move's not at all"),
            choice("choose", &C::choose, CHOOSE_NAMES, Use::RECIPE,
                   "the move at temperature 0: of most visits or of highest value"),
            flag("stop_when_proven", &C::stop_when_proven, Use::CODE,
                 "stop before the visits are used up when the root is proven"),
            within("max_bytes", &C::max_bytes, 0, std::uint64_t(1) << 50, Use::CODE,
                   "size of the tree above which it is pruned to half"),
            flag("lcb", &C::lcb, Use::CODE,
                 "play the move with the highest lower confidence bound instead of the most visited move"),
            within("forced_win_nodes", &C::forced_win_nodes, 0, 100'000'000, Use::CODE,
                   "positions of an alpha-beta search for a forced win before a search of 400 visits or more; 0: off"));
    }

    // The same search as matches are played: without noise and without the penalty of repetitions. `select = noise` stays:
    // it has no other exploration.
    SearchConfig without_noise() const {
        SearchConfig quiet = *this;
        quiet.gumbel_scale = quiet.noise_epsilon = quiet.repetition_penalty = 0;
        return quiet;
    }

    // Whether the value of a node is another one than the mean over its visits.
    bool mixes_values() const { return minimax > 0 || proven_means; }

    // Whether nodes search only some of their moves, and hold them in the order of their priors.
    bool limits_moves() const { return top_k > 0 || tail > 0 || widening > 0; }

    // The visits of a search of a position with this many legal moves, at this ply of its game: more for narrow
    // positions, fewer for wide ones and for the opening.
    std::uint32_t budget(std::uint32_t visits, std::size_t moves, std::uint32_t ply) const {
        double factor = 1;
        if (budget_moves) factor = std::clamp(budget_moves / static_cast<double>(moves), 0.5, 2.0);
        if (ply < opening_plies) factor *= static_cast<double>(opening_share);
        return factor == 1 ? visits : std::max(1u, static_cast<std::uint32_t>(visits * factor + 0.5));
    }

    // The same search with another size of the tree.
    SearchConfig with_max_bytes(std::uint64_t bytes) const {
        SearchConfig resized = *this;
        resized.max_bytes = bytes;
        return resized;
    }
};

// The moves of self-play games. The defaults are those of a recipe.
struct SelfPlayConfig {
    // Playout-cap randomisation (KataGo): a move is searched with `visits` and trained on with `full_probability`,
    // otherwise searched with `fast_visits`, without Dirichlet noise, and only played.
    std::uint32_t visits = 0;
    std::uint32_t fast_visits = 1;
    double full_probability = 0.25;
    std::uint32_t random_plies = 4;
    double temperature = 1;
    std::uint32_t temperature_plies = 10;
    std::uint32_t max_plies = 512;
    // Moves of the evaluator's policy alone: the first plies of every game, and all moves of a share of the games.
    std::uint32_t policy_plies = 0;
    double policy_games = 0;
    // Resignation: the values of a side's last `resign_moves` searches are at most -`resign`; 0: off. In a share of the
    // games the side plays on, which measures how often a resignation would have been false.
    double resign = 0;
    std::uint32_t resign_moves = 3;
    std::uint32_t resign_from = 20;
    double resign_played_out = 0.1;
    std::uint32_t quickdraw = 0;
    // Search the last position of a truncated game, and record its value as the game's judgement.
    bool judge_search = false;

    static constexpr std::uint32_t MAX_VISITS = 100'000, MAX_PLIES = 10'000;

    static constexpr auto fields() {
        using C = SelfPlayConfig;
        return std::make_tuple(within("visits", &C::visits, 1, MAX_VISITS, Use::REQUIRED_RECIPE,
                                      "visits of a full search; its position is trained on"),
                               within("fast_visits", &C::fast_visits, 1, MAX_VISITS, Use::RECIPE,
                                      "visits of a fast search, which only chooses a move"),
                               within("full_probability", &C::full_probability, 0, 1, Use::RECIPE,
                                      "share of full searches (playout cap randomisation)"),
                               within("random_plies", &C::random_plies, 0, MAX_PLIES, Use::RECIPE,
                                      "a game begins with 0 to this many random plies"),
                               within("temperature", &C::temperature, 0, 10, Use::RECIPE,
                                      "temperature of the choice of moves in the opening"),
                               within("temperature_plies", &C::temperature_plies, 0, MAX_PLIES, Use::RECIPE,
                                      "plies for which the temperature lasts"),
                               within("max_plies", &C::max_plies, 1, MAX_PLIES, Use::RECIPE,
                                      "longer games are truncated and have no value target, unless `judge` is set"),
                               within("policy_plies", &C::policy_plies, 0, MAX_PLIES, Use::RECIPE,
                                      "first plies of a game that are chosen by the bare policy, without a search"),
                               within("policy_games", &C::policy_games, 0, 1, Use::RECIPE,
                                      "share of games in which every move is chosen by the bare policy"),
                               within("resign", &C::resign, 0, 1, Use::RECIPE,
                                      "a side resigns when its searches have values of at most minus this; 0: never"),
                               within("resign_moves", &C::resign_moves, 1, 1000, Use::RECIPE,
                                      "moves in a row of one side that must have such a value"),
                               within("resign_from", &C::resign_from, 0, MAX_PLIES, Use::RECIPE,
                                      "moves of each side before which no side resigns"),
                               within("resign_played_out", &C::resign_played_out, 0, 1, Use::RECIPE,
                                      "share of games without resignation, which measure false ones"),
                               within("quickdraw", &C::quickdraw, 0, 99, Use::RECIPE,
                                      "a game is drawn when this many plies passed without a capture or a pawn move; "
                                      "0: by the rules only"),
                               flag("judge_search", &C::judge_search, Use::CODE,
                                    "search the last position of a truncated game and record its value"));
    }

    // A game between players: every search is a full one of the seat's visits, and the best move is played.
    static constexpr SelfPlayConfig of_match(std::uint32_t max_plies = 512) {
        return {
            .full_probability = 1, .random_plies = 0, .temperature = 0, .temperature_plies = 0, .max_plies = max_plies};
    }
};

}  // namespace selfmate
