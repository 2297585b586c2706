/**
 * Parts of the console that are loaded when they are needed: loaded again when that fails, and when it fails for long,
 * a reload is offered.
 */

import type { ComponentType, LazyExoticComponent, ReactNode } from 'react';
import { Component, lazy } from 'react';
import { after } from '../lib/stopwatch.ts';

/** Pauses before what could not be loaded is asked for again, in milliseconds. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];
/** What browsers say of a module that could not be fetched ends with its address. */
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
      // Some browsers remember for good that an address failed; another query is another address.
      const address = ADDRESS.exec(error instanceof Error ? error.message : '')?.[0];
      if (address) next = () => import(/* @vite-ignore */ `${address}?again=${tries + 1}`) as Promise<Module>;
      await new Promise<void>((resolve) => {
        after(pauseMs, resolve);
      });
    }
  }
  return next();
}

/**
 * Shows its children; what they throw, a part that could not be loaded for instance, becomes an offer to load the page
 * again.
 */
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
