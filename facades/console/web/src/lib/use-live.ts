/**
 * The only event feed of this tab, for the visible page. A hidden tab closes it, because a browser opens few
 * connections to a host and other tabs need them too.
 */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { PastView } from '../../../views.ts';
import type { ApiError } from './api.ts';
import { follow } from './feed.ts';
import { after } from './stopwatch.ts';

/** State of a feed. */
export interface Live<View> {
  view: View | undefined;
  past: PastView;
  /** Whether the view is of the part of a list that was shown before. */
  isOld: boolean;
  /** Reason why the service is unavailable. The view is then the last received one. Empty otherwise. */
  away: string;
  /** Error that ended the feed: the resource is gone, or the key may not see it. */
  ended: ApiError | undefined;
}

/** Time until every facade knows that a key was revoked, in milliseconds. */
const REVOKED_MS = 6_000;

const NOTHING = { view: undefined, past: {}, isOld: false, away: '', ended: undefined };

/**
 * Follows a feed. `query` names the page. For pages that begin with a list's search, and for the jobs of one endpoint,
 * the previous part is shown until the new one arrives. `isStill`: keeps the last view and stops following, unless that
 * view is of the previous part.
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
  if (latest.query === query) return latest;
  return isSamePage(latest.query, query) ? { ...latest, isOld: true, away: '', ended: undefined } : NOTHING;
}

/**
 * Checks the session after a 401. The key may have fewer permissions than this page needs, or be revoked; then the user
 * must sign in again.
 */
function useSessionCheck(ended: ApiError | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (ended?.status !== 401) return undefined;
    const check = (): void => {
      void queries.invalidateQueries({ queryKey: ['session'] });
    };
    // Checks at once, and again when every facade knows about a revoked key.
    check();
    return after(REVOKED_MS, check);
  }, [ended, queries]);
}

/**
 * Returns whether both queries are of the overview, of pods, of all jobs, of the same part of the same endpoint, or of
 * the same job.
 */
function isSamePage(before: string, after: string): boolean {
  const isOverview = (query: string): boolean => query.startsWith('?search=');
  const list = /^\?part=(pods|all-jobs)&/.exec(before)?.[0];
  if (list !== undefined) return after.startsWith(list);
  const partOf = (query: string): string =>
    ['endpoint', 'job', 'part'].map((name) => new URLSearchParams(query).get(name)).join();
  return (
    before === after ||
    (isOverview(before) && isOverview(after)) ||
    (/^\?endpoint=/.test(after) && partOf(before) === partOf(after))
  );
}

/** Returns whether this tab is visible. */
export function useIsShown(): boolean {
  const [isShown, setIsShown] = useState(document.visibilityState === 'visible');
  useEffect(() => {
    const check = (): void => setIsShown(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', check);
    return () => document.removeEventListener('visibilitychange', check);
  }, []);
  return isShown;
}
