/** The overview: problems, endpoints or machines, and their figures. */

import type { FormEvent } from 'react';
import { Suspense } from 'react';
import { Link, useLocation } from 'wouter';
import type { EndpointRow, OverviewView, Sample } from '../../../views.ts';
import { PAST_MS } from '../../../views.ts';
import { GpuMap, NoMachine } from '../charts/gpu-map.tsx';
import { Sparkline } from '../charts/sparkline.tsx';
import { count } from '../lib/format.ts';
import { useIsOperator, useSession } from '../lib/session.tsx';
import { useHistory } from '../lib/use-history.ts';
import { useLive } from '../lib/use-live.ts';
import { Filters, Head, Narrowed, namesOf, Pages, Search } from '../listing/listing-parts.tsx';
import { ENDPOINT_FILTERS, MACHINE_FILTERS } from '../listing/live-filters.ts';
import type { Listing } from '../listing/use-listing.ts';
import { useListing } from '../listing/use-listing.ts';
import { DialogButton } from '../ui/dialog.tsx';
import { lazyPage } from '../ui/lazy-page.tsx';
import { Away, Badge, Empty, Figure, Loading, NoHit, Panel, Refused } from '../ui/parts.tsx';
import { Problems } from '../ui/problems.tsx';

/** Command that makes the first endpoint. */
const START = 'npm start -- --handler your_handler.py';

const NewEndpointForm = lazyPage(async () => ({ default: (await import('../forms/new-endpoint.tsx')).NewEndpoint }));

/** Shows the page. */
export function Overview() {
  const isOperator = useIsOperator();
  const filters = isOperator ? MACHINE_FILTERS : ENDPOINT_FILTERS;
  const listing = useListing(isOperator ? { order: 'state', descending: false } : {}, namesOf(filters));
  const { view, past, isOld, away, ended } = useLive<OverviewView>(`?${listing.query}`);
  const history = useHistory(view?.endpoints ?? [], past, view?.nowMs ?? 0, PAST_MS);
  if (ended?.status === 400)
    return (
      <>
        <h1>Overview</h1>
        <Narrowed listing={listing} filters={filters} why={ended} />
      </>
    );
  if (ended)
    return (
      <>
        <Refused title="Overview" why={ended} />
        {ended.status === 401 && <OpenById />}
      </>
    );
  return (
    <>
      <div className="title">
        <h1>Overview</h1>
        {!isOperator && <NewEndpoint />}
      </div>
      {view ? (
        <>
          <Away text={away} />
          {view.problemCount === 0 && (
            <p className="well">
              <Badge word="all well" tone="good" /> Nothing is wrong right now.
            </p>
          )}
          <Problems problems={view.problems} problemCount={view.problemCount} hasLinks />
          {view.machines ? (
            <Machines view={view} isOld={isOld} listing={listing} />
          ) : (
            <Endpoints view={view} isOld={isOld} history={history} listing={listing} />
          )}
          <Pages listing={listing} next={view.next} isOld={isOld} />
        </>
      ) : (
        <Loading away={away} />
      )}
      {isOperator && (
        <p className="hint">
          The operator’s key belongs to no account. Sign in with a key of an account to see its endpoints.
        </p>
      )}
    </>
  );
}

/** A key for jobs alone cannot list endpoints, but may open the jobs of one by its id. */
function OpenById() {
  const [, go] = useLocation();
  if (useSession().jobs === 'none') return null;
  const open = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget).get('endpoint') ?? '').trim();
    if (id !== '') go(`/endpoints/${encodeURIComponent(id)}/jobs`);
  };
  const input = <input id="endpoint" name="endpoint" placeholder="its id" required />;
  return (
    <Panel title="Jobs of an endpoint">
      <form className="tools plain body" onSubmit={open}>
        <label htmlFor="endpoint">Endpoint</label> {input} <button type="submit">Open</button>
      </form>
    </Panel>
  );
}

/** Creates an endpoint. The form is loaded on demand. */
function NewEndpoint() {
  const [, go] = useLocation();
  if (useSession().manage !== 'write') return null;
  return (
    <div className="actions">
      <DialogButton text="New endpoint" className="main">
        {(close) => (
          <Suspense>
            <NewEndpointForm
              onClose={close}
              onDone={(id, job) => go(`/endpoints/${id}/start${job === '' ? '' : `?job=${encodeURIComponent(job)}`}`)}
            />
          </Suspense>
        )}
      </DialogButton>
    </div>
  );
}

function Endpoints({
  view: { endpoints, next, nowMs },
  isOld,
  history,
  listing,
}: {
  view: OverviewView;
  isOld: boolean;
  history: ReadonlyMap<string, readonly Sample[]>;
  listing: Listing;
}) {
  const sum = (of: (row: EndpointRow) => number): number => endpoints.reduce((total, row) => total + of(row), 0);
  const isPart = isOld || next !== '' || listing.page > 1 || listing.isNarrowed;
  if (endpoints.length === 0 && !isPart) {
    return (
      <Panel title="Endpoints">
        <Empty title="There is no endpoint yet.">
          <p>
            “New endpoint” makes one from an image. On the machine of Slipway, <code>{START}</code> serves a file.{' '}
            <code>npx slipway deploy FOLDER</code> builds and deploys a folder.
          </p>
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      <dl className="figures">
        <Figure label={isPart ? 'Endpoints shown' : 'Endpoints'} value={count(endpoints.length)} />
        <Figure label="In queue" value={count(sum(({ queued }) => queued))} />
        <Figure label="Running" value={count(sum(({ inProgress }) => inProgress))} />
        <Figure label="Workers" value={count(sum(({ workers }) => workers.idle + workers.running))} />
        <Figure label="Completed" value={count(sum(({ completed }) => completed))} />
        <Figure label="Failed" value={count(sum(({ failed }) => failed))} />
      </dl>
      <Panel title="Endpoints" aside={isPart ? 'figures of the endpoints shown' : undefined}>
        <Search listing={listing}>
          <Filters listing={listing} filters={ENDPOINT_FILTERS} />
        </Search>
        {endpoints.length === 0 ? (
          <NoHit what="endpoint" />
        ) : (
          <div className="scroll" tabIndex={0} role="region" aria-label="Endpoints, scrolls sideways" aria-busy={isOld}>
            <table className="rows">
              <thead>
                <tr>
                  <Head listing={listing} text="Name" by="name" />
                  <th className="right">Queue</th>
                  <th className="right">Running</th>
                  <th>
                    Last 10 minutes: <span className="of-queue">queue</span>, <span className="of-run">running</span>
                  </th>
                  <Head listing={listing} text="Workers" by="workers_max" />
                  <th className="right">Completed</th>
                  <th className="right">Failed</th>
                </tr>
              </thead>
              <tbody>
                {endpoints.map((row) => (
                  <Row key={row.id} row={row} samples={history.get(row.id) ?? []} nowMs={nowMs} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
    </>
  );
}

function Row({ row, samples, nowMs }: { row: EndpointRow; samples: readonly Sample[]; nowMs: number }) {
  return (
    <tr>
      <th scope="row">
        <Link href={`/endpoints/${row.id}`} className="text" title={row.name}>
          {row.name}
        </Link>{' '}
        <code className="id">{row.id}</code>
      </th>
      <td className="right number">{count(row.queued)}</td>
      <td className="right number">{count(row.inProgress)}</td>
      <td className="lines">
        <Sparkline points={samples.map(([atMs, queued]) => [atMs, queued])} nowMs={nowMs} label="In queue" />
        <Sparkline
          points={samples.map(([atMs, , running]) => [atMs, running])}
          nowMs={nowMs}
          label="Running"
          tone="run"
        />
      </td>
      <td>
        <Workers row={row} />
      </td>
      <td className="right number">{count(row.completed)}</td>
      <td className={`right number ${row.failed > 0 ? 'some' : ''}`}>{count(row.failed)}</td>
    </tr>
  );
}

/** Shows a square for each worker, up to 24. */
function Workers({ row: { workers, workersMax } }: { row: EndpointRow }) {
  const { running, idle, initializing, unhealthy, standby } = workers;
  const kinds = [
    ['busy', running],
    ['idle', idle],
    ['starting', initializing],
    ['broken', unhealthy],
    ['standby', standby],
  ] as const;
  const there = running + idle + initializing;
  const text =
    kinds
      .filter(([, number]) => number > 0)
      .map(([word, number]) => `${number} ${word}`)
      .join(', ') || 'none';
  const squares = kinds
    .flatMap(([word, number]) => Array.from({ length: Math.min(number, 24) }, () => word))
    .slice(0, 24);
  return (
    <span className="workers" title={text}>
      <span className="number">
        {there}
        <span className="of">/{workersMax}</span>
      </span>
      <span className="squares" aria-hidden="true">
        {squares.map((word, index) => (
          <i key={index} className={word} />
        ))}
      </span>
      <span className="spoken">{text}</span>
    </span>
  );
}

function Machines({ view, isOld, listing }: { view: OverviewView; isOld: boolean; listing: Listing }) {
  const machines = view.machines ?? [];
  const gpus = machines.flatMap((machine) => machine.gpus);
  if (machines.length === 0 && listing.page === 1 && !isOld && !listing.isNarrowed) {
    return (
      <Panel title="Machines">
        <NoMachine />
      </Panel>
    );
  }
  return (
    <>
      <dl className="figures">
        <Figure
          label="Machines"
          value={`${machines.filter(({ connected }) => connected).length} / ${machines.length}`}
          hint="connected, of all that joined"
        />
        <Figure label="GPUs in use" value={`${gpus.filter(({ heldBy }) => heldBy !== '').length} / ${gpus.length}`} />
        <Figure label="GPUs unhealthy" value={gpus.filter(({ unhealthy }) => unhealthy !== '').length} />
        <Figure label="Workers" value={count(machines.reduce((total, { workers }) => total + workers, 0))} />
      </dl>
      <section className="panel">
        <Search listing={listing}>
          <Filters listing={listing} filters={MACHINE_FILTERS} />
        </Search>
        {machines.length === 0 && <NoHit what="machine" />}
      </section>
      {machines.length > 0 && <GpuMap machines={machines} isOld={isOld} hasLink />}
    </>
  );
}
