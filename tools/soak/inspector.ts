/** Client of a Node process's inspector: how much of its heap is alive, and of which classes. */
import { once } from 'node:events';

/** Time of a call at most, in milliseconds. A snapshot of 100 MiB takes some seconds on an idle machine. */
const CALL_MS_MAX = 120_000;

/** What is alive of one class. */
export interface ClassTotal {
  count: number;
  bytes: number;
}

interface Message {
  id?: number;
  result?: unknown;
  error?: { message: string };
  params?: { chunk?: string };
}

/** A heap snapshot, as V8 writes it: a node is as many numbers as there are fields. */
interface Snapshot {
  snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } };
  nodes: number[];
  strings: string[];
}

/** Types whose nodes have the name of a class or a function. All others are counted by type. */
const NAMED_TYPES = new Set(['object', 'closure', 'native']);

export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #lastId = 0;
  #chunks: string[] = [];

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Message));
    socket.addEventListener('close', () => {
      for (const end of this.#waiting.values()) end({ error: { message: 'the inspector closed the connection' } });
      this.#waiting.clear();
    });
  }

  /** Connects to the address that Node prints after `Debugger listening on`. */
  static async connect(address: string): Promise<Inspector> {
    const socket = new WebSocket(address);
    await once(socket, 'open', { signal: AbortSignal.timeout(CALL_MS_MAX) });
    return new Inspector(socket);
  }

  /** Collects garbage, and returns the used bytes of the heap that are left. */
  async aliveBytes(): Promise<number> {
    await this.#call('HeapProfiler.collectGarbage');
    return ((await this.#call('Runtime.getHeapUsage')) as { usedSize: number }).usedSize;
  }

  /** Collects garbage, and returns what is left by class. The process stands still for seconds. */
  async classes(): Promise<Map<string, ClassTotal>> {
    this.#chunks = [];
    await this.#call('HeapProfiler.takeHeapSnapshot');
    const text = this.#chunks.join('');
    this.#chunks = [];
    return classesOf(JSON.parse(text) as Snapshot);
  }

  close(): void {
    this.#socket.close();
  }

  #take({ id, params, ...message }: Message): void {
    if (params?.chunk !== undefined) this.#chunks.push(params.chunk);
    if (id === undefined) return;
    this.#waiting.get(id)?.(message);
    this.#waiting.delete(id);
  }

  async #call(method: string): Promise<unknown> {
    const id = (this.#lastId += 1);
    const { promise, resolve } = Promise.withResolvers<Message>();
    const timer = setTimeout(resolve, CALL_MS_MAX, { error: { message: `no answer within ${CALL_MS_MAX} ms` } });
    this.#waiting.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method }));
    const { result, error } = await promise;
    clearTimeout(timer);
    this.#waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }
}

function classesOf({ snapshot, nodes, strings }: Snapshot): Map<string, ClassTotal> {
  const { node_fields: fields, node_types: nodeTypes } = snapshot.meta;
  const [typeAt, nameAt, sizeAt] = ['type', 'name', 'self_size'].map((name) => fields.indexOf(name)) as [
    number,
    number,
    number,
  ];
  const totals = new Map<string, ClassTotal>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const type = nodeTypes[0][nodes[at + typeAt]!]!;
    const name = NAMED_TYPES.has(type) ? `${type} ${strings[nodes[at + nameAt]!]}` : type;
    const total = totals.get(name) ?? { count: 0, bytes: 0 };
    total.count += 1;
    total.bytes += nodes[at + sizeAt]!;
    totals.set(name, total);
  }
  return totals;
}
