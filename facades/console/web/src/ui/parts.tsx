/** Small components of all pages, with the states empty, loading, failed and forbidden. */

import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { LATE_MS, LATE_TEXT } from '../../../views.ts';
import { ApiError } from '../lib/api.ts';
import { stateText } from '../lib/format.ts';
import { after } from '../lib/stopwatch.ts';

/** A titled section of a page. */
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

/** A number with a label. */
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

/** A table of names and texts. Empty texts are left out. */
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

/** The name of an account; its id until the name is known. */
export function AccountName({ id, accounts }: { id: string; accounts: Readonly<Record<string, string>> }) {
  return (
    <bdi className="text" title={id}>
      {accounts[id] ?? id}
    </bdi>
  );
}

/** A state as a coloured word. Other texts stay as they are: they may hold names and times. */
export function Badge({ word, tone }: { word: string; tone?: string }) {
  return <span className={`badge ${tone ?? toneOf(word)}`}>{/[a-z]/.test(word) ? word : stateText(word)}</span>;
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

/** Says that there is nothing, and how to change that. */
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

/** Says that the search found nothing. */
export function NoHit({ what }: { what: string }) {
  return <Empty title={`No ${what} matches.`}>Search for a part of its name or id.</Empty>;
}

/** A placeholder while data is loading. It says so when that takes long. `away` is the reason, if known. */
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

/** Returns whether waiting has taken longer than `LATE_MS`. */
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

/** Shows an error of the service. Without permission it says what to do. */
export function Failed({ error, again }: { error: unknown; again?: () => void }) {
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
    return <Empty title="This key has no access.">Sign in with another key, or ask its creator for access.</Empty>;
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

/** A page whose feed was rejected: it does not exist, or the key may not see it. `children` say where to go instead. */
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

/** Says that the service is unreachable and the data is old. */
export function Away({ text }: { text: string }) {
  return text === '' ? null : (
    <p className="away" role="status">
      {text}
    </p>
  );
}

/**
 * Shown with old data: why the new data cannot be read, or that it takes long. `isPlaceholderData` if the data matches
 * the previous choice.
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

/** The breadcrumb of a page. */
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

/** Head of the column with the actions of rows. Its word is for screen readers. */
export function ActionsHead() {
  return (
    <th className="acts">
      <span className="spoken">Actions</span>
    </th>
  );
}
