/** The connection to the server: requests with answers, events, and reconnection. */
import type { AnyEvent, AnyRequest, Failure } from "./messages";

export type ConnectionState = "connecting" | "open" | "lost";

type EventOf<T extends AnyEvent["type"]> = Extract<AnyEvent, { type: T }>;
type RequestOf<T extends AnyRequest["type"]> = Extract<AnyRequest, { type: T }>;
/** A request without what the connection adds. */
export type RequestBody<T extends AnyRequest["type"]> = Omit<RequestOf<T>, "type" | "ask">;

export class RequestFailed extends Error {}
/** It may have been answered, and can be sent again. */
export class ConnectionLost extends RequestFailed {}

/** Bytes of a message: the server closes the connection at a longer one. */
const MOST_BYTES = 2 << 20;
const RETRY_MS = [250, 500, 1000, 2000, 4000];

export class Connection {
  private socket: WebSocket | null = null;
  private nextAsk = 1;
  private attempts = 0;
  private readonly waiting = new Map<number, { resolve: (event: AnyEvent) => void; reject: (error: Error) => void }>();
  private readonly listeners = new Map<string, Set<(event: never) => void>>();
  private readonly openListeners = new Set<() => void>();
  private queue: string[] = [];

  constructor(
    private readonly url: string,
    private readonly onState: (state: ConnectionState) => void,
    private readonly makeSocket: (url: string) => WebSocket = (address) => new WebSocket(address),
    /** Called before every new attempt: a server that was started again has another token. */
    private readonly beforeRetry: () => Promise<unknown> = () => Promise.resolve(),
  ) {}

  connect(): void {
    this.onState("connecting");
    const socket = this.makeSocket(this.url);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.attempts = 0;
      this.onState("open");
      for (const listener of this.openListeners) listener();
      for (const text of this.queue.splice(0)) socket.send(text);
    });
    socket.addEventListener("message", (message: MessageEvent<string>) => {
      this.receive(JSON.parse(message.data) as AnyEvent);
    });
    socket.addEventListener("close", () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.onState("lost");
      for (const { reject } of this.waiting.values()) reject(new ConnectionLost("The connection was lost."));
      this.waiting.clear();
      const wait = RETRY_MS[Math.min(this.attempts++, RETRY_MS.length - 1)] ?? 4000;
      setTimeout(() => void this.beforeRetry().then(() => this.connect()), wait);
    });
  }

  /** Send a request; what answers it is an event that `on` hears. Returns its number. */
  send<T extends AnyRequest["type"]>(type: T, body: RequestBody<T>): number {
    const ask = this.nextAsk++;
    const text = JSON.stringify({ type, ask, ...body });
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
    else this.queue.push(text); // a move that is made while the connection is lost is kept
    return ask;
  }

  /** Send a request and return its first answer; a failure rejects. */
  ask<T extends AnyRequest["type"], A extends AnyEvent["type"]>(
    type: T,
    body: RequestBody<T>,
    _answer: A,
  ): Promise<EventOf<A>> {
    return new Promise((resolve, reject) => {
      if (isTooLong({ type, ask: this.nextAsk, ...body })) {
        reject(new RequestFailed("This is more than the studio takes at once: make it shorter."));
        return;
      }
      const ask = this.send(type, body);
      this.waiting.set(ask, { resolve: resolve as (event: AnyEvent) => void, reject });
    });
  }

  /** Hear events of a type; returns a function that ends it. */
  on<T extends AnyEvent["type"]>(type: T, listener: (event: EventOf<T>) => void): () => void {
    const found = this.listeners.get(type) ?? new Set();
    this.listeners.set(type, found);
    found.add(listener);
    return () => found.delete(listener);
  }

  /** Call a function whenever the connection is opened, also after it was lost; returns a function that ends it. */
  onOpen(listener: () => void): () => void {
    this.openListeners.add(listener);
    if (this.socket?.readyState === WebSocket.OPEN) listener();
    return () => this.openListeners.delete(listener);
  }

  private receive(event: AnyEvent): void {
    const waiting = this.waiting.get(event.ask);
    if (waiting) {
      this.waiting.delete(event.ask);
      if (event.type === "failure") waiting.reject(new RequestFailed((event satisfies Failure).message));
      else waiting.resolve(event);
      if (event.type === "failure") return;
    }
    for (const listener of this.listeners.get(event.type) ?? []) listener(event as never);
  }
}

function isTooLong(message: object): boolean {
  const text = JSON.stringify(message);
  return text.length > MOST_BYTES / 3 && new TextEncoder().encode(text).length > MOST_BYTES;
}
