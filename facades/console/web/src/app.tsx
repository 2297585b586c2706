/** The whole page: the session, the frame around all pages, and the routes. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Suspense, useEffect, useRef } from 'react';
import { Route, Router, Switch, useLocation } from 'wouter';
import type { SessionView } from '../../views.ts';
import { ApiError, ask } from './lib/api.ts';
import { SessionProvider, SignIn } from './lib/session.tsx';
import { useTitle } from './lib/use-title.ts';
import { Overview } from './pages/overview.tsx';
import { Frame } from './ui/frame.tsx';
import { LoadBoundary, lazyPage } from './ui/lazy-page.tsx';
import { Empty, Failed, Loading } from './ui/parts.tsx';

// Loaded on demand: most tabs never leave the overview.
const EndpointPage = lazyPage(() => import('./pages/endpoint.tsx'));
const JobsPage = lazyPage(() => import('./pages/jobs.tsx'));
const JobPage = lazyPage(() => import('./pages/job.tsx'));
const MachinePage = lazyPage(() => import('./pages/machine.tsx'));
const MachinesPage = lazyPage(() => import('./pages/machines.tsx'));
const UsagePage = lazyPage(() => import('./pages/usage.tsx'));
const PodPage = lazyPage(() => import('./pages/pod.tsx'));
const ListPage = lazyPage(() => import('./pages/list.tsx'));

/** Renders the console, or the sign-in form. */
export function App() {
  const queries = useQueryClient();
  const { data, error, isPending } = useQuery({
    queryKey: ['session'],
    queryFn: () => ask<SessionView>('GET', '/session'),
    staleTime: 60_000,
    refetchInterval: 60_000,
  });
  const signIn = (session: SessionView): void => {
    queries.setQueryData<SessionView>(['session'], session);
  };
  // Signed out, what was typed must stay while the query is pending again, and after any other failure.
  const isOut = useRef(false);
  if (error instanceof ApiError && error.status === 401) isOut.current = true;
  else if (!isPending && !error) isOut.current = false;
  if (isOut.current) return <SignIn onDone={signIn} why={data ? 'The session has ended: sign in again.' : undefined} />;
  if (isPending)
    return (
      <main>
        <Loading />
      </main>
    );
  if (!data)
    return (
      <main>
        <Failed error={error} />
      </main>
    );
  return (
    <SessionProvider value={data}>
      <Router base="/console">
        <Frame>
          <Shown />
        </Frame>
      </Router>
    </SessionProvider>
  );
}

/** Shows the page of the current path. Navigation resets the error boundary. */
function Shown() {
  const [path] = useLocation();
  return (
    <LoadBoundary key={path.split('/')[1]}>
      <Suspense fallback={<Loading />}>
        <Pages />
      </Suspense>
    </LoadBoundary>
  );
}

function Pages() {
  const [path] = useLocation();
  useTitle(path);
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [path]);
  return (
    <Switch>
      <Route path="/" component={Overview} />
      <Route path="/jobs" component={JobsPage} />
      <Route path="/endpoints/:id/jobs/:job">{({ id, job }) => <JobPage endpointId={id} jobId={job} />}</Route>
      <Route path="/endpoints/:id/:tab?">
        {({ id, tab }) => <EndpointPage key={id} id={id} tab={tab ?? 'activity'} />}
      </Route>
      <Route path="/machines" component={MachinesPage} />
      <Route path="/machines/:name">{({ name }) => <MachinePage key={name} name={name} />}</Route>
      <Route path="/usage" component={UsagePage} />
      <Route path="/pods/:id">{({ id }) => <PodPage key={id} id={id} />}</Route>
      <Route path="/:kind">{({ kind }) => <ListPage key={kind} kind={kind} />}</Route>
      <Route>
        <h1>Not found</h1>
        <Empty title="There is no such page." />
      </Route>
    </Switch>
  );
}
