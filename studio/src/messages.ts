// Generated from src/selfmate/studio/messages.py by `make messages`; a test compares both.

export type Color = "white" | "black";

/** What an analysis has found so far. */
export interface AnalysisUpdate {
  type: "analysis.update";
  ask: number;
  fen: string;
  player: string;
  visits: number;
  seconds: number;
  nodes: number;
  depth: number;
  seldepth: number;
  value: number;
  wdl: [number, number, number];
  net_value: number | null;
  /** As in `Candidate`, for the side to move. */
  proven: number | null;
  candidates: Candidate[];
  tree: TreeNodeView[];
  done: boolean;
}

/** Ask for a game as PGN; answered by `PgnText`. */
export interface AskGamePgn {
  type: "game.pgn";
  ask: number;
  id: string;
}

/** Ask what the opponent would play; answered by `HintFound`. */
export interface AskHint {
  type: "game.hint";
  ask: number;
  id: string;
}

/** Ask how a game of a run was judged then, and how the present net judges it; answered by `JudgedGame`. */
export interface AskJudgement {
  type: "run.judge";
  ask: number;
  id: string;
  cycle: number;
  game: number;
}

/** Ask for the finished games of a match; answered by `MatchGames`. */
export interface AskMatchGames {
  type: "match.games";
  ask: number;
  id: string;
}

/** Ask for the matches of a variant on this server; answered by `MatchTable`. */
export interface AskMatchTable {
  type: "match.table";
  ask: number;
  variant: string;
}

/** Ask for `NetList`. */
export interface AskNets {
  type: "net.list";
  ask: number;
  variant?: string | null;
}

/** Ask for the position after moves; answered by `PositionView`. */
export interface AskPosition {
  type: "position.ask";
  ask: number;
  variant: string;
  fen?: string | null;
  moves?: string[];
  chess960?: number | null;
}

/** Ask what the checkpoints of a run find in fixed positions; answered by `RunProbes`. */
export interface AskProbes {
  type: "run.probes";
  ask: number;
  id: string;
}

/** Ask for a recipe with changes (`section.key=value`); answered by `RecipeForm`, or `Failure` if they are wrong. */
export interface AskRecipe {
  type: "recipe.ask";
  ask: number;
  name: string;
  settings?: string[];
}

/** Ask for finished games of a cycle of a run, the newest cycle if none is named; answered by `RunGames`. */
export interface AskRunGames {
  type: "run.games";
  ask: number;
  id: string;
  cycle?: number | null;
}

/** A position as a board shows it. */
export interface BoardState {
  fen: string;
  files: number;
  ranks: number;
  turn: "black" | "white";
  legal: LegalMove[];
  /** Square of the king in check. */
  check: string | null;
  /** Checks that White and Black still have to give, where checks win. */
  checks_left: [number, number] | null;
  /** `1-0`, `0-1` or `1/2-1/2`; None while the game goes on. */
  result: string | null;
  reason: string | null;
}

/** A root move of an analysis. */
export interface Candidate {
  uci: string;
  san: string;
  visits: number;
  share: number;
  value: number;
  prior: number;
  /** Plies to a forced win of the side to move (positive) or its loss (negative), 0: a draw. */
  proven: number | null;
  /** The expected line in SAN, with this move first. */
  pv: string[];
  net_value: number | null;
}

/** A curve: `y` over `x`, with the half width of the 95 % interval where there is one. */
export interface ChartSeries {
  name: string;
  x: number[];
  y: number[];
  error?: number[] | null;
}

/** Milliseconds that each side has left when the message is sent; the clock of `running` counts down. */
export interface ClockState {
  white: number;
  black: number;
  running: "black" | "white" | null;
}

/** A line of an outside engine. */
export interface EngineLine {
  /** The first move. */
  uci: string;
  /** Pawns or moves to mate, White's: `+0.31`, `-M2`. */
  score: string;
  value: number;
  /** In SAN. */
  pv: string[];
}

/** What an outside engine has found so far. */
export interface EngineUpdate {
  type: "engine.update";
  ask: number;
  engine: string;
  /** As it calls itself. */
  name: string;
  fen: string;
  depth: number;
  nodes: number;
  seconds: number;
  lines: EngineLine[];
  done: boolean;
}

/** Why a player chose its move, in one sentence, with the line that it expects. */
export interface Explanation {
  ply: number;
  text: string;
  line: string[];
  wdl: [number, number, number];
  value: number;
  visits: number;
}

/** A request that could not be fulfilled, and why, in one sentence. */
export interface Failure {
  type: "failure";
  ask: number;
  message: string;
}

/** A game in a list. */
export interface GameCard {
  id: string;
  variant: string;
  fen: string;
  opponent: string;
  you: "black" | "white";
  plies: number;
  your_turn: boolean;
  result: string | null;
}

/** The games of this server, the newest first. */
export interface GameList {
  type: "game.list";
  ask: number;
  games: GameCard[];
}

/** A game as it stands. */
export interface GameView {
  type: "game.view";
  ask: number;
  id: string;
  variant: string;
  start: string;
  moves: PlayedMove[];
  board: BoardState;
  you: "black" | "white";
  player: string;
  opponent: string;
  opponent_detail: string;
  control: TimeControl | null;
  clock: ClockState | null;
  thinking: boolean;
  explanation: Explanation | null;
  /** Answer of the opponent to a draw offer, or why nothing happened; often empty. */
  notice: string;
  can_take_back: boolean;
  /** Id of the game that followed. */
  rematch: string | null;
}

/** Ask for `Welcome`. */
export interface Hello {
  type: "hello";
  ask: number;
}

/** What the opponent would play. */
export interface HintFound {
  type: "game.hint";
  ask: number;
  id: string;
  ply: number;
  uci: string;
  san: string;
  text: string;
}

/** Input planes of a position, as the net sees them, the meaning of its policy, and the opinions of nets. */
export interface InsideNet {
  type: "net.inside";
  ask: number;
  fen: string;
  files: number;
  ranks: number;
  planes: NetPlane[];
  /** Whose first rank is the first of the input planes. */
  seen_by: "black" | "white";
  policy: NetPolicy;
  /** Of the player, and of its untrained net; of equal priors where the player is no net. */
  opinions: NetOpinion[];
}

/** How the installation goes on. */
export interface InstallProgress {
  type: "train.install";
  ask: number;
  status: "done" | "failed" | "running";
  /** The last line that it printed; of a failure the sentence that says why. */
  line: string;
  seconds: number;
}

/** Install what training needs, where `Welcome` says that it can be done; answered by `InstallProgress`. */
export interface InstallTraining {
  type: "train.install";
  ask: number;
}

/** Values of the positions of a game from its start on, White's; None where a position was not searched for. */
export interface JudgedGame {
  type: "run.judged";
  ask: number;
  id: string;
  game: number;
  cycle: number;
  sans: string[];
  /** What the search expected when the game was played. */
  search_then: (number | null)[];
  /** What its net said alone. */
  net_then: (number | null)[];
  /** What the present net says alone; None where the game is over. */
  net_now: (number | null)[];
  /** The cycle that made the present net. */
  now: number;
}

/** A player of a ladder with its rating and half of its 95 % interval. */
export interface LadderRow {
  name: string;
  elo: number;
  error: number;
  games: number;
  /** Whether it is a net of the list and not a fixed player. */
  is_net: boolean;
}

/** Follow a game no longer. */
export interface LeaveGame {
  type: "game.leave";
  ask: number;
  id: string;
}

/** A legal move in both notations. */
export interface LegalMove {
  uci: string;
  san: string;
  capture: boolean;
}

/** Ask for `GameList`. */
export interface ListGames {
  type: "game.list";
  ask: number;
}

/** Ask for `RunList`, now and whenever it changes. */
export interface ListRuns {
  type: "run.list";
  ask: number;
}

/** A self-play game as it stands. */
export interface LiveBoard {
  game: number;
  /** First field of the FEN. */
  board: string;
  /** Last move; empty before the first. */
  last: string;
  plies: number;
}

/** Read the first game of a PGN; answered by `StudyGame`. */
export interface LoadPgn {
  type: "pgn.load";
  ask: number;
  text: string;
}

/** Ask for a run once; answered by `RunView`. */
export interface LookAtRun {
  type: "run.look";
  ask: number;
  id: string;
}

/** Ask what a net sees and says of a position without a search; answered by `InsideNet`. */
export interface LookInside {
  type: "net.inside";
  ask: number;
  variant: string;
  fen?: string | null;
  moves?: string[];
  player?: string | null;
}

/** A game of a match as it stands. */
export interface MatchBoard {
  game: number;
  /** First field of the FEN. */
  board: string;
  /** Last move; empty before the first. */
  last: string;
  plies: number;
  first_is_white: boolean;
  /** Empty while it is played. */
  result: string;
}

/** The finished games of a match, the newest first; `first_is_white` for each of them. */
export interface MatchGames {
  type: "match.games";
  ask: number;
  id: string;
  first: string;
  second: string;
  games: RunGame[];
  first_is_white: boolean[];
}

/** Scores between players in the matches of this server. */
export interface MatchTable {
  type: "match.table";
  ask: number;
  variant: string;
  cells: TableCell[];
}

/** A match as it stands; results are the first player's, over the pairs of games that are complete. */
export interface MatchView {
  type: "match.view";
  ask: number;
  id: string;
  variant: string;
  first: string;
  second: string;
  visits: number;
  games: number;
  wins: number;
  draws: number;
  losses: number;
  score: number;
  /** The 95 % interval. */
  score_range: [number, number];
  elo: number;
  /** The 95 % interval; None: without bound. */
  elo_range: [number | null, number | null];
  llr: number;
  /** Of the sequential test of 0 against 20 normalised Elo. */
  llr_bounds: [number, number];
  verdict: "H0" | "H1" | null;
  boards: MatchBoard[];
  seconds: number;
  status: "done" | "playing" | "preparing" | "stopped";
  /** Why games were not played, in one sentence; empty for a match that was played or stopped. */
  message: string;
}

/** A net with what is known of it. */
export interface NetCard {
  id: string;
  name: string;
  kind: "run" | "shipped";
  variant: string;
  facts: ([string, string])[];
  scores: NetScore[];
  /** Why the net cannot be played. */
  problem?: string | null;
}

/** Nets and the ladder of a variant. */
export interface NetList {
  type: "net.list";
  ask: number;
  nets: NetCard[];
  ladder: LadderRow[];
  variant: string;
}

/** What a net says of a position without a search. */
export interface NetOpinion {
  player: string;
  name: string;
  wdl: [number, number, number];
  /** By move. */
  priors: Record<string, number>;
  /** Of each cell of the policy, of legal and illegal moves alike, in millionths; None for what has no such output. */
  policy: number[] | null;
  /** Expected plies to the end of the game. */
  plies: number | null;
}

/** An input plane: one number for each square in the order of ranks from the first, files from a; or one for all. */
export interface NetPlane {
  name: string;
  values: number[];
}

/** What the cells of a policy mean on the board as White sees it; a cell is plane * squares + from-square. */
export interface NetPolicy {
  /** `none`: a net without a policy; `core`: no net, priors of the legal moves alone, laid out as `planes`. */
  kind: "core" | "factored" | "fromto" | "none" | "planes";
  planes: PolicyPlane[];
  /** Of each legal move. */
  cells: Record<string, number>;
}

/** Result of a match that measured a net, with the ends of its 95 % interval. */
export interface NetScore {
  against: string;
  score: number;
  low: number;
  high: number;
  games: number;
}

/** Start a game; answered by `GameView`. Without `elo` and `visits` the player has its usual strength. */
export interface NewGame {
  type: "game.new";
  ask: number;
  variant: string;
  color?: "black" | "random" | "white";
  player?: string | null;
  elo?: number | null;
  visits?: number | null;
  clock?: TimeControl | null;
  fen?: string | null;
  chess960?: number | null;
}

/** Offer a draw; the opponent answers in the notice of `GameView`. */
export interface OfferDraw {
  type: "game.draw";
  ask: number;
  id: string;
}

/** Follow a game; answered by `GameView` now and after every change. */
export interface OpenGame {
  type: "game.open";
  ask: number;
  id: string;
}

/** A game as PGN. */
export interface PgnText {
  type: "pgn.text";
  ask: number;
  text: string;
}

/** Play a move; `ply` is the number of moves before it, so that a late message changes nothing. */
export interface PlayMove {
  type: "game.move";
  ask: number;
  id: string;
  ply: number;
  uci: string;
}

/** A move of a game and the position after it. */
export interface PlayedMove {
  uci: string;
  san: string;
  fen: string;
  check: boolean;
  /** Squares that the move emptied by an explosion; the first is its centre. */
  exploded: string[];
}

/** A player that can be chosen, by its id. */
export interface PlayerCard {
  id: string;
  name: string;
  kind: "core" | "engine" | "net" | "run";
  /** None: every variant, of an engine those that it knows. */
  variant: string | null;
  detail: string;
  /** Lowest and highest strength that can be asked for. */
  elo_range: [number, number];
  /** Whether strengths were measured; else they are estimates. */
  measured: boolean;
}

/** One playout: the nodes from the root to its leaf, and their numbers after it. */
export interface PlayoutStep {
  path: number[];
  /** At each node of the path but the leaf, the moves with the largest sums, the largest first. */
  choices: TracedChoice[][];
  is_new: boolean;
  /** Whether the rules decide the leaf, and the evaluator was not asked. */
  by_rules: boolean;
  /** Of the leaf, for the side that moved into it; at the root for the side to move. */
  value: number;
  visits: number[];
  /** For the side that makes the move; at the root for the side to move. */
  values: number[];
  proven: (number | null)[];
}

/** A search, playout by playout. */
export interface PlayoutTrace {
  type: "analysis.trace";
  ask: number;
  fen: string;
  player: string;
  /** In the order in which they were added. */
  nodes: TraceNode[];
  playouts: PlayoutStep[];
}

/** A plane of the policy: from each square a move by `step`, files to the right and ranks up, or to one square. */
export interface PolicyPlane {
  name: string;
  step: [number, number] | null;
  to: string | null;
}

/** The position after moves, and the moves with their positions. */
export interface PositionView {
  type: "position.view";
  ask: number;
  variant: string;
  start: string;
  moves: PlayedMove[];
  board: BoardState;
}

/** A recipe as a form. */
export interface RecipeForm {
  type: "recipe.form";
  ask: number;
  name: string;
  description: string;
  keys: RecipeKeyCard[];
}

/** A key of a recipe as it was declared, with its value in one recipe. Values are written as in TOML. */
export interface RecipeKeyCard {
  key: string;
  section: string;
  name: string;
  type: "array" | "boolean" | "integer" | "number" | "string";
  help: string;
  /** Empty where the recipe does not have the key. */
  value: string;
  /** What a value may be, in words. */
  expected: string;
  choices: string[];
  /** Whether it may change over the cycles: `[[0, 16], [20, 32]]`. */
  scheduled: boolean;
}

/** Start the same game with the other colour; answered by the `GameView` of the new game. */
export interface Rematch {
  type: "game.rematch";
  ask: number;
  id: string;
}

/** Give up. */
export interface ResignGame {
  type: "game.resign";
  ask: number;
  id: string;
}

/** Judge every move of a line; answered by a `ReviewedMove` for each, the last one with `done`. */
export interface ReviewGame {
  type: "review.start";
  ask: number;
  variant: string;
  fen?: string | null;
  moves: string[];
  player?: string | null;
  visits?: number | null;
}

/** A move of a game with the loss that searches found; `ply` counts from 0. */
export interface ReviewedMove {
  type: "review.move";
  ask: number;
  ply: number;
  /** Of the position after the move. */
  value: number;
  /** Of the position before it, with best play. */
  before: number;
  /** For the side that moved, at least 0. */
  loss: number;
  mark: "" | "?" | "?!" | "??";
  best: string;
  best_san: string;
  best_line: string[];
  proven: number | null;
  done: boolean;
}

/** Some of the games that a run plays at this moment; none: it plays none, or does not tell. */
export interface RunBoards {
  type: "run.boards";
  ask: number;
  id: string;
  boards: LiveBoard[];
}

/** A training run in a list. */
export interface RunCard {
  id: string;
  name: string;
  variant: string;
  recipe: string;
  status: "broken" | "paused" | "pausing" | "running" | "stopped" | "stopping";
  cycle: number;
  games: number;
  seconds: number;
  /** What is wrong with a broken run, or why the last training of a stopped one failed, in one sentence. */
  message: string;
  /** The cycle of its best net. */
  champion?: number;
  /** Of the time that a paused run was given; None: as long as it takes. */
  seconds_left?: number | null;
  /** What was changed from the recipe: `section.key=value`. */
  settings?: string[];
}

/** A finished self-play game, by its moves. */
export interface RunGame {
  id: number;
  cycle: number;
  variant: string;
  start: string;
  moves: string[];
  /** First fields of the FEN at the start and after every move. */
  boards: string[];
  result: string;
  reason: string;
  /** The cycle whose net played it; 0 in a match. */
  net: number;
}

/** Finished games of a cycle, the newest first. */
export interface RunGames {
  type: "run.games";
  ask: number;
  id: string;
  cycle: number;
  /** Cycles of which games are kept, rising. */
  cycles: number[];
  /** Games of the cycle; those in `games` may be fewer. */
  total: number;
  games: RunGame[];
}

/** The runs of the folder that the server was started with, the newest first. */
export interface RunList {
  type: "run.list";
  ask: number;
  runs: RunCard[];
}

/** What the checkpoints of a run find in fixed positions, without a search. */
export interface RunProbes {
  type: "run.probes";
  ask: number;
  id: string;
  charts: Record<string, ChartSeries[]>;
  /** Checkpoints that are not measured yet: ask again. */
  left: number;
}

/** A run that was started or resumed. */
export interface RunStarted {
  type: "run.started";
  ask: number;
  id: string;
}

/** A run: its curves, its newest games and what happened last. */
export interface RunView {
  type: "run.view";
  ask: number;
  run: RunCard;
  /** By name of the chart. */
  charts: Record<string, ChartSeries[]>;
  games: RunGame[];
  /** Seconds of training, and a sentence. */
  log: ([number, string])[];
  /** Cycles whose nets are kept, the newest first: players `run/ID/CYCLE`. */
  checkpoints: number[];
  /** Whether this server started it and can stop it. */
  owned: boolean;
}

/** Write a game tree as PGN; answered by `PgnText`. */
export interface SavePgn {
  type: "pgn.save";
  ask: number;
  variant: string;
  fen?: string | null;
  headers?: Record<string, string>;
  nodes?: StudyNode[];
  comment?: string;
}

/** Analyse a position until the limit; it replaces the analysis of this page. Answered by `AnalysisUpdate`s. */
export interface StartAnalysis {
  type: "analysis.start";
  ask: number;
  variant: string;
  fen?: string | null;
  moves?: string[];
  player?: string | null;
  visits?: number | null;
  seconds?: number | null;
  /** Nodes of the search tree in every update; 0: none. */
  tree_nodes?: number;
}

/** Let an outside engine analyse a position; it replaces its analysis for this page. Answered by `EngineUpdate`s. */
export interface StartEngine {
  type: "engine.start";
  ask: number;
  variant: string;
  engine: string;
  fen?: string | null;
  moves?: string[];
  seconds?: number | null;
  lines?: number;
}

/** Let two players play each other, every opening with both colours; answered by `MatchView`s. An outside engine searches `visits` nodes for a move. */
export interface StartMatch {
  type: "match.start";
  ask: number;
  variant: string;
  first: string;
  second: string;
  games?: number;
  visits?: number;
}

/** Start a training run of a recipe, or resume the run `resume`; answered by `RunStarted`. */
export interface StartRun {
  type: "run.start";
  ask: number;
  recipe?: string;
  name?: string;
  resume?: string;
  minutes?: number | null;
  settings?: string[];
}

/** Search a position playout by playout; answered by `PlayoutTrace`. */
export interface StepPlayouts {
  type: "analysis.playouts";
  ask: number;
  variant: string;
  fen?: string | null;
  moves?: string[];
  player?: string | null;
  playouts?: number;
}

/** Stop the analysis or review of this page. */
export interface StopAnalysis {
  type: "analysis.stop";
  ask: number;
}

/** Stop the outside engine of this page. */
export interface StopEngine {
  type: "engine.stop";
  ask: number;
}

/** End a match; what was played counts. */
export interface StopMatch {
  type: "match.stop";
  ask: number;
  id: string;
}

/** Save a run and end its training. With `pause`, `StartRun` resumes it for the rest of its time. */
export interface StopRun {
  type: "run.stop";
  ask: number;
  id: string;
  pause?: boolean;
}

/** A game that was read. */
export interface StudyGame {
  type: "pgn.loaded";
  ask: number;
  variant: string;
  start: string;
  headers: Record<string, string>;
  nodes: StudyNode[];
  comment: string;
  more_games: boolean;
  /** What of the text could not be read as it stands, the worst or the first of it, as a sentence; empty: nothing. */
  repair: string;
}

/** A move of a game tree. `parent` is its index in the list, -1: the start; the first child is the main line. */
export interface StudyNode {
  parent: number;
  uci: string;
  san?: string;
  fen?: string;
  comment?: string;
  nags?: number[];
  exploded?: string[];
}

/** All matches between two players, with results of the row's. */
export interface TableCell {
  row: string;
  column: string;
  wins: number;
  draws: number;
  losses: number;
  /** Ids, the newest first. */
  matches: string[];
}

/** Take the last move back, with the answer to it. */
export interface TakeBack {
  type: "game.takeback";
  ask: number;
  id: string;
}

/** Seconds for the game, and those added after every move. */
export interface TimeControl {
  seconds: number;
  increment?: number;
}

/** A node of a traced search. `parent` is its index in the list, -1 at the root. */
export interface TraceNode {
  parent: number;
  uci: string;
  san: string;
  prior: number;
}

/** A move that selection compared: it takes the one with the largest sum of `q` and `u`. */
export interface TracedChoice {
  uci: string;
  san: string;
  /** Value so far for the side that moves. */
  q: number;
  /** Bonus for a high prior and few visits. */
  u: number;
}

/** A node of a search tree. `parent` is its index in the list, -1 at the root. */
export interface TreeNodeView {
  parent: number;
  uci: string;
  san: string;
  visits: number;
  /** For the side that makes the move; at the root for the side to move. */
  value: number;
  prior: number;
  proven: number | null;
}

/** A variant with its board and the player that plays it by default. */
export interface VariantCard {
  id: string;
  name: string;
  files: number;
  ranks: number;
  start: string;
  chess960: boolean;
  player: string;
  /** What differs from chess, in one sentence. */
  rule: string;
}

/** Follow a match; an empty id means the newest one, if there is one. */
export interface WatchMatch {
  type: "match.watch";
  ask: number;
  id?: string;
}

/** Follow a run; answered by `RunView` now and after every change. An empty id follows none. */
export interface WatchRun {
  type: "run.watch";
  ask: number;
  id: string;
}

/** What there is to play with. */
export interface Welcome {
  type: "welcome";
  ask: number;
  version: string;
  variants: VariantCard[];
  players: PlayerCard[];
  /** Name, variant and first line of each recipe. */
  recipes: ([string, string, string])[];
  /** Outside engines that were named when the server was started: opponents, and for `StartEngine`. */
  engines: PlayerCard[];
  can_train: boolean;
  /** What to do before a training can be started, in one sentence; empty if it can. */
  training_hint: string;
  /** Whether `InstallTraining` does it. */
  can_install: boolean;
}

export type AnyRequest =
  | Hello
  | NewGame
  | OpenGame
  | LeaveGame
  | PlayMove
  | TakeBack
  | ResignGame
  | OfferDraw
  | Rematch
  | AskHint
  | ListGames
  | AskGamePgn
  | AskPosition
  | StartAnalysis
  | StepPlayouts
  | LookInside
  | StopAnalysis
  | ReviewGame
  | StartEngine
  | StopEngine
  | LoadPgn
  | SavePgn
  | ListRuns
  | WatchRun
  | LookAtRun
  | StartRun
  | StopRun
  | InstallTraining
  | AskRecipe
  | StartMatch
  | WatchMatch
  | StopMatch
  | AskNets
  | AskRunGames
  | AskJudgement
  | AskProbes
  | AskMatchGames
  | AskMatchTable;

export type AnyEvent =
  | Welcome
  | Failure
  | GameView
  | GameList
  | HintFound
  | PositionView
  | AnalysisUpdate
  | EngineUpdate
  | PlayoutTrace
  | InsideNet
  | ReviewedMove
  | StudyGame
  | PgnText
  | RunList
  | RunView
  | RecipeForm
  | InstallProgress
  | RunStarted
  | MatchView
  | NetList
  | RunBoards
  | RunGames
  | JudgedGame
  | RunProbes
  | MatchGames
  | MatchTable;
