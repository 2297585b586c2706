/**
 * The one event feed of this tab, of the page that is shown. A hidden tab lets it go, because a browser opens few
 * connections to a host and its other tabs need them too.
 */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { PastView } from '../../../views.ts';
import type { ApiError } from './api.ts';
import { follow } from './feed.ts';
import { after } from './stopwatch.ts';

/** What a feed has told. */
export interface Live<View> {
  view: View | undefined;
  past: PastView;
  /** The view is of the part of a list that was shown before. */
  isOld: boolean;
  /** The service is away, in words; the view is the last that was told. */
  away: string;
  /** It is no more, or the key may not see it. */
  ended: ApiError | undefined;
}

/** After this long every facade knows that a key was revoked, in milliseconds. */
const REVOKED_MS = 6_000;

const NOTHING = { view: undefined, past: {}, isOld: false, away: '', ended: undefined };

/**
 * Follows a feed. `query` names the page; of those that begin with a list's search, and of the jobs of one endpoint,
 * the part before is shown until there is another. `isStill`: it stands still as it was told last, unless that is of
 * the part before.
 */
export function useLive<View>(query: string, isStill = false): Live<View> {
  const [latest, setLatest] = useState<Live<View> & { query: string }>({ ...NOTHING, query });
  const isShown = useIsShown();
  const stands = isStill && latest.query === query && !latest.isOld;
  useEffect(() => {
    if (!isShown || stands) return undefined;
    const update = (part: Partial<Live<View>>): void =>
      setLatest((before) => ({
        ...(before.query === query
          ? before
          : { ...NOTHING, view: isSamePage(before.query, query) ? before.view : undefined, isOld: true }),
        ...part,
        query,
      }));
    return follow(query, {
      onView: (view) => update({ view: view as View, isOld: false, away: '' }),
      onPast: (past) => update({ past: past as PastView }),
      onAway: (away) => update({ away }),
      onEnded: (ended) => update({ ended }),
    });
  }, [query, isShown, stands]);
  useSessionCheck(latest.ended);
  return latest.query === query
    ? latest
    : isSamePage(latest.query, query)
      ? { ...latest, isOld: true, away: '', ended: undefined }
      : NOTHING;
}

/** A key that is refused may see less than this page, or have been revoked: then one is asked to sign in again. */
function useSessionCheck(ended: ApiError | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (ended?.status !== 401) return undefined;
    const check = (): void => {
      void queries.invalidateQueries({ queryKey: ['session'] });
    };
    // At once, and when every facade knows that a key was revoked.
    check();
    return after(REVOKED_MS, check);
  }, [ended, queries]);
}

/** Both are of the overview, of pods, of the same part of the same endpoint, or of the same job. */
function isSamePage(before: string, after: string): boolean {
  const isOverview = (query: string): boolean => query.startsWith('?search=');
  if (/^\?part=pods&/.test(before)) return /^\?part=pods&/.test(after);
  const partOf = (query: string): string =>
    ['endpoint', 'job', 'part'].map((name) => new URLSearchParams(query).get(name)).join();
  return (
    before === after ||
    (isOverview(before) && isOverview(after)) ||
    (/^\?endpoint=/.test(after) && partOf(before) === partOf(after))
  );
}

/** Whether anybody sees this tab. */
export function useIsShown(): boolean {
  const [isShown, setIsShown] = useState(document.visibilityState === 'visible');
  useEffect(() => {
    const check = (): void => setIsShown(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', check);
    return () => document.removeEventListener('visibilitychange', check);
  }, []);
  return isShown;
}
