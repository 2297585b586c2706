/**
 * Parts of the console that are loaded on demand. A failed load is retried; if it keeps failing, the page offers a
 * reload.
 */

import type { ComponentType, LazyExoticComponent, ReactNode } from 'react';
import { Component, lazy } from 'react';
import { after } from '../lib/stopwatch.ts';

/** Pauses before each retry, in milliseconds. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];
/** The URL at the end of the browser's error for a module that could not be fetched. */
const ADDRESS = /https?:\/\/[^\s?]+\.js/;

/** Returns a component that is loaded when it is first shown. */
export function lazyPage<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(() => loaded(load));
}

async function loaded<Module>(load: () => Promise<Module>): Promise<Module> {
  let next = load;
  for (const [tries, pauseMs] of PAUSES_MS.entries()) {
    try {
      return await next();
    } catch (error) {
      // Some browsers cache a failed import by URL: another query is another URL.
      const address = ADDRESS.exec(error instanceof Error ? error.message : '')?.[0];
      if (address) next = () => import(/* @vite-ignore */ `${address}?again=${tries + 1}`) as Promise<Module>;
      await new Promise<void>((resolve) => {
        after(pauseMs, resolve);
      });
    }
  }
  return next();
}

/** Shows its children. If they throw, for example because a part could not be loaded, it offers a reload. */
export class LoadBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <>
        <h1>Not loaded</h1>
        <div className="failed" role="alert">
          <p>This page could not be loaded: the connection broke, or the service has a newer console by now.</p>
          <button type="button" onClick={() => window.location.reload()}>
            Reload the page
          </button>
        </div>
      </>
    );
  }
}
