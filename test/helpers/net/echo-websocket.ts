/** A WebSocket that exchanges messages with an echoing worker all the time, so that it is never idle for long. */
import { delay, systemClock } from '@slipway/kit/time/clock';

/** Between an echo and the next word, in milliseconds. */
const PAUSE_MS = 50;

/** Opens the WebSocket and begins to send. `url` is the ws:// address of the worker's path. */
export function echoWebSocket(url: string, key: string) {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
  const since = performance.now();
  let words = 0;
  let isOpen = true;
  const say = (): void => {
    if (isOpen) socket.send(`word ${words}`);
  };
  socket.addEventListener('open', say);
  socket.addEventListener('message', ({ data }) => {
    if (data !== `word ${words}`) return socket.close();
    words += 1;
    void delay(systemClock, PAUSE_MS).then(say);
  });
  for (const event of ['close', 'error'] as const)
    socket.addEventListener(event, () => {
      isOpen = false;
    });
  return {
    /** Messages that were echoed. */
    get words(): number {
      return words;
    },
    get isOpen(): boolean {
      return isOpen;
    },
    /** Time since it was opened, in milliseconds. */
    get ageMs(): number {
      return performance.now() - since;
    },
    stop: (): void => {
      isOpen = false;
      socket.close();
    },
  };
}
