/**
 * Stands for the HTTP client of an agent's health checks in the simulation (loader.ts): a simulated worker answers 200,
 * or nothing listens at the address.
 */
import { EventEmitter } from 'node:events';

/** Where simulated workers listen. */
export const servers = {
  /** Returns whether a worker answers at an address. Rejects if the caller is gone. */
  ask: async (_address: string): Promise<boolean> => false,
};

export class Agent extends EventEmitter {
  destroy(): void {}
}

/** Makes a request, as Node's `request` does. The server keeps no connection. */
export function request({ host, port }: { host: string; port: number }): EventEmitter & { end(): void } {
  const call = new EventEmitter();
  const over = (isAnswered: boolean): void => {
    const headers = {};
    const nothing = (): void => undefined;
    if (isAnswered) call.emit('response', { statusCode: 200, headers, destroy: nothing, resume: nothing });
    else call.emit('error', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
    call.emit('close');
  };
  const end = (): void => void servers.ask(`${host}:${port}`).then(over);
  return Object.assign(call, { end, destroy: () => undefined, reusedSocket: false, shouldKeepAlive: false });
}
