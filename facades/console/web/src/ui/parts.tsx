/** Small parts that all pages are made of, and what a page shows when it has nothing, waits, failed or may not. */

import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { LATE_MS, LATE_TEXT } from '../../../views.ts';
import { ApiError } from '../lib/api.ts';
import { stateText } from '../lib/format.ts';
import { after } from '../lib/stopwatch.ts';

/** A titled part of a page. */
export function Panel({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel">
      <header>
        <h2>{title}</h2>
        {aside !== undefined && <div className="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

/** A number with what it counts. */
export function Figure({
  label,
  value,
  tone,
  hint,
}: {
  label: string;
  value: ReactNode;
  tone?: string;
  hint?: string;
}) {
  return (
    <div className={`figure ${tone ?? ''}`} title={hint}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** What is known of one thing, by name; what is empty is left out. It needs no more room than there is. */
export function FactsTable({
  label,
  facts,
}: {
  label: string;
  facts: readonly (readonly [name: string, text: string])[];
}) {
  return (
    <table className="rows facts" aria-label={label}>
      <tbody>
        {facts
          .filter(([, text]) => text !== '')
          .map(([name, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="wide">{text}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

/** A word that says a state; never by its colour alone. */
export function Badge({ word, tone }: { word: string; tone?: string }) {
  return <span className={`badge ${tone ?? toneOf(word)}`}>{stateText(word)}</span>;
}

const TONES: Readonly<Record<string, string>> = {
  COMPLETED: 'good',
  READY: 'good',
  RUNNING: 'good',
  FAILED: 'bad',
  TIMED_OUT: 'bad',
  UNHEALTHY: 'bad',
  IN_PROGRESS: 'busy',
  INITIALIZING: 'warn',
  STARTING: 'warn',
  UNREADY: 'warn',
  DRAINING: 'warn',
  OUTDATED: 'warn',
};

function toneOf(word: string): string {
  return TONES[word] ?? 'calm';
}

/** There is nothing, and what would change that. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

/** Nothing of what there is has in it what was looked for. */
export function NoHit({ what }: { what: string }) {
  return <Empty title={`No ${what} matches.`}>Search for a part of its name or id.</Empty>;
}

/** It is on its way; it says so when that takes long. `away`: why it does not come, where that is known. */
export function Loading({ away = '' }: { away?: string }) {
  const isLate = useIsLate(true);
  const text = away || (isLate ? LATE_TEXT : '');
  return (
    <div className="loading" role="status">
      {text === '' ? <span className="spoken">Loading</span> : <p>{text}</p>}
      <i />
      <i />
      <i />
    </div>
  );
}

/** It has been waited for longer than is no more than slow. */
function useIsLate(isWaiting: boolean): boolean {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    if (!isWaiting) return undefined;
    const stop = after(LATE_MS, () => setIsLate(true));
    return () => {
      stop();
      setIsLate(false);
    };
  }, [isWaiting]);
  return isLate;
}

/** It failed, in the service's words; a lack of permission says what to do. */
export function Failed({ error, again }: { error: unknown; again?: () => void }) {
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
    return <Empty title="This key may not see that.">Sign in with a key that may, or ask whoever made this one.</Empty>;
  }
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div className="failed" role="alert">
      <p>{text}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A page that its feed refused: it is no more, or the key may not see it. `children`: where one may go instead. */
export function Refused({ title, why, children }: { title: string; why: Error; children?: ReactNode }) {
  const isGone = why instanceof ApiError && why.status === 404;
  return (
    <>
      <h1>{title}</h1>
      <section className="panel" role="alert">
        {isGone ? (
          <Empty title={why.message}>{children}</Empty>
        ) : (
          <Failed error={why} again={() => window.location.reload()} />
        )}
      </section>
    </>
  );
}

/** The service was away a moment ago; what is shown is old. */
export function Away({ text }: { text: string }) {
  return text === '' ? null : (
    <p className="away" role="status">
      {text}
    </p>
  );
}

/**
 * Beside what was read before: why what is asked for cannot be read, or that it takes long. `isPlaceholderData`: what
 * is shown is not what was chosen.
 */
export function Overdue({
  failureReason,
  isPlaceholderData,
}: {
  failureReason: Error | null;
  isPlaceholderData: boolean;
}) {
  const isLate = useIsLate(isPlaceholderData);
  return <Away text={failureReason?.message ?? (isLate ? LATE_TEXT : '')} />;
}

/** Where a page stands below others. */
export function Trail({ steps }: { steps: readonly { text: string; to?: string }[] }) {
  return (
    <nav aria-label="Where this is" className="trail">
      {steps.map(({ text, to }) =>
        to === undefined ? (
          <span key={text} aria-current="page" title={text}>
            {text}
          </span>
        ) : (
          <Link key={text} href={to} title={text}>
            {text}
          </Link>
        ),
      )}
    </nav>
  );
}
