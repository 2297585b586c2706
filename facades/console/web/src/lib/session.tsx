/** The current session, sign-in and sign-out. */

import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { createContext, useContext, useState } from 'react';
import type { SessionView } from '../../../views.ts';
import { ask } from './api.ts';

const Current = createContext<SessionView | undefined>(undefined);

/** Provides the session to all pages. */
export const SessionProvider = Current.Provider;

/** Returns the current session. */
export function useSession(): SessionView {
  const session = useContext(Current);
  if (!session) throw new Error('a page stands outside of the session');
  return session;
}

/** Returns whether the signed-in key belongs to no account. */
export function useIsOperator(): boolean {
  return useSession().accountId === '';
}

/** Ends the session in this browser and clears the data that was read with it. */
export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await ask('DELETE', '/session');
    queries.clear();
    window.location.assign('/console');
  };
}

/** Shows the sign-in form. */
export function SignIn({ onDone, why }: { onDone: (session: SessionView) => void; why?: string | undefined }) {
  const [failure, setFailure] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get('key') ?? '').trim();
    setIsBusy(true);
    await ask<SessionView>('POST', '/session', { key }).then(onDone, (error: Error) => setFailure(error.message));
    setIsBusy(false);
  };
  return (
    <main className="signin">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Slipway</h1>
        <p>Your API key is the login. It stays in this browser for twelve hours, where no script can read it.</p>
        <label htmlFor="key">API key</label>
        <input
          id="key"
          name="key"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          aria-describedby={failure || why ? 'failure' : undefined}
        />
        {(failure || why) && (
          <p id="failure" role="alert" className="failure">
            {failure || why}
          </p>
        )}
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Checking …' : 'Sign in'}
        </button>
        <p className="hint">
          <code>npm start</code> printed one on the machine that runs this; <code>npx slipway keys create</code> makes
          others.
        </p>
      </form>
    </main>
  );
}
