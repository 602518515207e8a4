import { beforeEach, expect, it, vi } from "vitest";
import { Connection, type ConnectionState } from "../src/socket";

class FakeSocket extends EventTarget {
  static readonly all: FakeSocket[] = [];
  readyState = 0;
  sent: string[] = [];
  constructor() {
    super();
    FakeSocket.all.push(this);
  }
  send(text: string): void {
    this.sent.push(text);
  }
  open(): void {
    this.readyState = WebSocket.OPEN;
    this.dispatchEvent(new Event("open"));
  }
  say(message: unknown): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) }));
  }
  close(): void {
    this.readyState = WebSocket.CLOSED;
    this.dispatchEvent(new Event("close"));
  }
}

let states: ConnectionState[] = [];
function connect(): { connection: Connection; socket: FakeSocket } {
  const connection = new Connection(
    "ws://test/ws",
    (state) => states.push(state),
    () => new FakeSocket() as unknown as WebSocket,
  );
  connection.connect();
  const socket = FakeSocket.all[0];
  if (!socket) throw new Error("no socket");
  return { connection, socket };
}

beforeEach(() => {
  FakeSocket.all.length = 0;
  states = [];
  vi.useFakeTimers();
});

it("sends what was asked before the connection was open, in order", () => {
  const { connection, socket } = connect();
  connection.send("hello", {});
  connection.send("game.list", {});
  expect(socket.sent).toEqual([]);
  socket.open();
  expect(socket.sent.map((text) => (JSON.parse(text) as { type: string; ask: number }).type)).toEqual([
    "hello",
    "game.list",
  ]);
});

it("gives an answer to the request of its number only", async () => {
  const { connection, socket } = connect();
  socket.open();
  const first = connection.ask("game.pgn", { id: "00000001" }, "pgn.text");
  const second = connection.ask("game.pgn", { id: "00000002" }, "pgn.text");
  socket.say({ type: "pgn.text", ask: 2, text: "two" });
  socket.say({ type: "pgn.text", ask: 1, text: "one" });
  expect([(await first).text, (await second).text]).toEqual(["one", "two"]);
});

it("rejects with the sentence of a failure, which listeners do not hear again", async () => {
  const { connection, socket } = connect();
  socket.open();
  const heard = vi.fn();
  connection.on("failure", heard);
  const answer = connection.ask("game.open", { id: "00000001" }, "game.view");
  socket.say({ type: "failure", ask: 1, message: "No such game." });
  await expect(answer).rejects.toThrow("No such game.");
  expect(heard).not.toHaveBeenCalled();
  socket.say({ type: "failure", ask: 0, message: "Unasked." });
  expect(heard).toHaveBeenCalledOnce();
});

it("connects again, rejects what waited, and keeps a move that was made meanwhile", async () => {
  const { connection, socket } = connect();
  const opened = vi.fn();
  connection.onOpen(opened);
  socket.open();
  const waiting = connection.ask("game.pgn", { id: "00000001" }, "pgn.text");
  socket.close();
  await expect(waiting).rejects.toThrow("lost");
  connection.send("game.move", { id: "00000001", ply: 0, uci: "e2e4" });
  await vi.advanceTimersByTimeAsync(300);
  const second = FakeSocket.all[1];
  second?.open();
  expect(opened).toHaveBeenCalledTimes(2);
  expect(second?.sent).toHaveLength(1);
  expect(states).toEqual(["connecting", "open", "lost", "connecting", "open"]);
});

it("refuses a message at which the server would close the connection", async () => {
  const { connection, socket } = connect();
  socket.open();
  const load = (text: string) => connection.ask("pgn.load", { text }, "pgn.loaded");
  await expect(load("ж".repeat(1_048_576))).rejects.toThrow("more than the studio takes");
  await expect(load("\n".repeat(1_048_576))).rejects.toThrow("more than the studio takes"); // two bytes each in JSON
  expect(socket.sent).toHaveLength(0);
  void load("a".repeat(1_048_576));
  expect(socket.sent).toHaveLength(1);
});
