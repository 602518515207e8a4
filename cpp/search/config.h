// The parameters of a search and of self-play. Each is declared once: its type and default in the struct, its range and
// help in the struct's `fields()`. The bindings, the keys of a recipe, their error messages and
// docs/recipes.md are made from these tables.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

namespace selfmate {

enum class Use {
    RECIPE,           // also a key of recipes
    REQUIRED_RECIPE,  // likewise, and without a default
    CODE,             // set by callers only
};

// A field of a config struct. Numbers lie in [minimum, maximum], or in (minimum, maximum].
template <class Config, class T>
struct FieldOf {
    const char* name;
    T Config::* member;
    T minimum, maximum;
    bool above_minimum;
    Use use;
    const char* help;

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
    // Inside the tree: PUCT (Silver et al. 2018) with first-play urgency: an edge without visits has the node's value
    // less `fpu_reduction` times the root of the visited prior (Lc0's 0.33).
    float cpuct = 1.25f;
    float fpu_reduction = 0.33f;
    float draw_score = 0;
    int virtual_loss = 1;
    // Stop before the visits are used up when the root is proven. Otherwise only a win in one ply, a draw or a loss
    // stops.
    bool stop_when_proven = true;
    // Size of nodes and edges above which the tree is pruned to half of it.
    std::uint64_t max_bytes = std::uint64_t(1) << 30;
    // Play the move with the highest lower confidence bound of its value (KataGo), instead of the most visited move.
    bool lcb = false;

    static constexpr auto fields() {
        using C = SearchConfig;
        return std::make_tuple(
            flag("gumbel", &C::gumbel, Use::RECIPE, "Gumbel root (true) or PUCT with Dirichlet noise (false)"),
            within("considered", &C::considered, 1, 256, Use::RECIPE, "root moves that a Gumbel search considers"),
            within("gumbel_scale", &C::gumbel_scale, 0, 10, Use::RECIPE, "scale of the Gumbel noise"),
            within("value_scale", &C::value_scale, 0, 100, Use::CODE, "scale of completed Q values (Gumbel root)"),
            within("maxvisit_init", &C::maxvisit_init, 0, 1e6f, Use::CODE,
                   "visits added to the most visited move in the scale of completed Q values (Gumbel root)"),
            positive("cpuct", &C::cpuct, 100, Use::RECIPE, "exploration constant of PUCT"),
            within("fpu_reduction", &C::fpu_reduction, 0, 10, Use::RECIPE,
                   "first-play urgency: how much less than its parent an unvisited move is worth"),
            positive("noise_alpha", &C::noise_alpha, 100, Use::RECIPE,
                     "concentration of the Dirichlet noise (PUCT root)"),
            within("noise_epsilon", &C::noise_epsilon, 0, 1, Use::RECIPE,
                   "share of Dirichlet noise in the priors (PUCT root)"),
            within("draw_score", &C::draw_score, -1, 1, Use::RECIPE,
                   "value of a draw inside the search, for the side to move at the root"),
            within("virtual_loss", &C::virtual_loss, 0, 1000, Use::CODE,
                   "losses that selection counts for each playout in flight"),
            flag("stop_when_proven", &C::stop_when_proven, Use::CODE,
                 "stop before the visits are used up when the root is proven"),
            within("max_bytes", &C::max_bytes, 0, std::uint64_t(1) << 50, Use::CODE,
                   "size of the tree above which it is pruned to half"),
            flag("lcb", &C::lcb, Use::CODE,
                 "play the move with the highest lower confidence bound instead of the most visited move"));
    }

    // The same search without noise at the root, as matches are played.
    SearchConfig without_noise() const {
        SearchConfig quiet = *this;
        quiet.gumbel_scale = quiet.noise_epsilon = 0;
        return quiet;
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
