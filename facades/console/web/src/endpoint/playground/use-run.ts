/** Runs one request of the playground at a time. Leaving the page ends it. */
import { useEffect, useRef, useState } from 'react';
import { span } from '../../lib/format.ts';
import { stopwatch } from '../../lib/stopwatch.ts';

/** The state of the latest request. */
export interface Run {
  isRunning: boolean;
  /** Reason why it failed. Empty if it did not. */
  fault: string;
  /** For example `took 2.1 s`. Empty before the first request has ended. */
  note: string;
  /** Starts a request. `work` gets a signal that ends it, and returns more for the note. */
  start: (work: (signal: AbortSignal) => Promise<string>) => void;
  stop: () => void;
}

/** Returns the state of requests. `onFault` is called when one failed. */
export function useRun(onFault?: () => void): Run {
  const [state, setState] = useState({ isRunning: false, fault: '', note: '' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const start: Run['start'] = (work) => {
    const mine = (running.current = new AbortController());
    const sinceMs = stopwatch();
    setState({ isRunning: true, fault: '', note: '' });
    const end = (fault: string, note: string): void => setState({ isRunning: false, fault, note });
    work(mine.signal).then(
      (more) => end('', [more, `took ${span(sinceMs())}`].filter(Boolean).join(' · ')),
      (error: unknown) => {
        if (mine.signal.aborted) return end('', `You stopped it after ${span(sinceMs())}.`);
        onFault?.();
        return end(error instanceof Error ? error.message : String(error), '');
      },
    );
  };
  return { ...state, start, stop: () => running.current?.abort() };
}
