/** The page of an endpoint and its tabs. */
import { Link } from 'wouter';
import type { EndpointView } from '../../../views.ts';
import { Activity } from '../endpoint/activity.tsx';
import { Code } from '../endpoint/code.tsx';
import { Decisions } from '../endpoint/decisions.tsx';
import { Errors } from '../endpoint/errors.tsx';
import { Jobs } from '../endpoint/jobs/jobs.tsx';
import { TryLb } from '../endpoint/load-balancing/try-lb.tsx';
import { OwnerActions } from '../endpoint/owner-actions.tsx';
import { Playground } from '../endpoint/playground/playground.tsx';
import { useModels } from '../endpoint/playground/use-models.ts';
import { Releases } from '../endpoint/releases.tsx';
import { Settings } from '../endpoint/settings.tsx';
import { Start } from '../endpoint/start.tsx';
import { TryIt } from '../endpoint/try-it.tsx';
import { useIsOperator, useSession } from '../lib/session.tsx';
import type { Live } from '../lib/use-live.ts';
import { useLive } from '../lib/use-live.ts';
import { useScrollToCurrent } from '../lib/use-scroll-to-current.ts';
import { Away, Badge, Empty, Loading, Refused, Trail } from '../ui/parts.tsx';

const TABS = [
  ['activity', 'Activity'],
  ['decisions', 'Scaling'],
  ['jobs', 'Jobs'],
  ['errors', 'Errors'],
  ['try', 'Try it'],
  ['playground', 'Playground'],
  ['settings', 'Settings'],
  ['releases', 'Releases'],
  ['code', 'Code'],
] as const;
/** Load-balancing endpoints have no jobs. */
const OF_QUEUE: readonly string[] = ['jobs', 'errors'];
const OF_JOBS: readonly string[] = [...OF_QUEUE, 'try', 'code'];
const OF_OPENAI = 'playground';
/** Tabs that the operator sees: they explain scaling, but show no data of the account. */
const OF_OPERATOR: readonly string[] = ['activity', 'decisions'];

/** Shows the page. */
export default function EndpointPage({ id, tab }: { id: string; tab: string }) {
  const live = useLive<EndpointView>(`?endpoint=${encodeURIComponent(id)}`);
  const { view, ended, away } = live;
  const { jobs } = useSession();
  const isOperator = useIsOperator();
  const isOpenai = useModels(id, !isOperator).names.length > 0 || tab === OF_OPENAI;
  const trail = <Trail steps={[{ text: 'Overview', to: '/' }, { text: view?.row.name ?? id }]} />;
  if (isOperator && !OF_OPERATOR.includes(tab)) {
    return (
      <>
        {trail}
        <h1>Endpoint</h1>
        <section className="panel">
          <Empty title="Endpoints belong to accounts.">Sign in with a key of the account to see this part.</Empty>
        </section>
      </>
    );
  }
  if (ended?.status === 401 && jobs !== 'none') {
    return (
      <>
        {trail}
        <div className="title">
          <h1>Endpoint</h1>
          <code className="id">{id}</code>
        </div>
        <Tabs id={id} tab={OF_JOBS.includes(tab) ? tab : 'jobs'} names={OF_JOBS} />
        <JobsPart tab={tab} id={id} failed={0} />
        <p className="hint">
          This key may use jobs only. To see the state of the endpoint, sign in with a key that may read endpoints.
        </p>
      </>
    );
  }
  if (ended)
    return (
      <>
        {trail}
        <Refused title="Endpoint" why={ended} />
      </>
    );
  if (!view)
    return (
      <>
        {trail}
        <h1>Endpoint</h1>
        <Loading away={away} />
      </>
    );
  const { row } = view;
  const names = tabsOf(row.type, isOpenai, isOperator);
  return (
    <>
      {trail}
      <div className="title">
        <h1 title={row.name}>{row.name}</h1>
        <code className="id">{id}</code>
        <Badge word={row.type === 'LB' ? 'load balancing' : 'queue'} />
        {row.workersMax === 0 && <Badge word="paused" tone="warn" />}
        {!isOperator && <OwnerActions row={row} />}
      </div>
      <Away text={away} />
      <Tabs id={id} tab={tab} names={names} />
      <Part tab={tab} id={id} live={live} view={view} />
    </>
  );
}

function tabsOf(type: string, isOpenai: boolean, isOperator: boolean): string[] {
  return TABS.map(([name]) => name).filter(
    (name) =>
      (type === 'QB' || !OF_QUEUE.includes(name)) &&
      (isOpenai || name !== OF_OPENAI) &&
      (!isOperator || OF_OPERATOR.includes(name)),
  );
}

function Tabs({ id, tab, names }: { id: string; tab: string; names: readonly string[] }) {
  return (
    <nav className="tabs" aria-label="Parts of this endpoint" ref={useScrollToCurrent()}>
      {TABS.filter(([name]) => names.includes(name)).map(([name, text]) => (
        <Link
          key={name}
          href={`/endpoints/${id}/${name}`}
          {...(name === tab ? { 'aria-current': 'page' as const } : {})}
        >
          {text}
        </Link>
      ))}
    </nav>
  );
}

function Part({ tab, id, live, view }: { tab: string; id: string; live: Live<EndpointView>; view: EndpointView }) {
  switch (tab) {
    case 'activity':
      return <Activity view={view} past={live.past} />;
    case 'decisions':
      return <Decisions view={view} />;
    case 'start':
      return <Start view={view} />;
    case 'settings':
      return <Settings id={id} />;
    case 'releases':
      return <Releases id={id} />;
    case 'code':
      return <Code id={id} type={view.row.type} />;
    case OF_OPENAI:
      return <Playground key={id} endpoint={view.row} />;
    case 'try':
      return view.row.type === 'LB' ? <TryLb key={id} view={view} /> : <TryIt id={id} />;
    case 'jobs':
    case 'errors':
      return <JobsPart tab={tab} id={id} failed={view.row.failed} />;
    default:
      return <Empty title="There is no such part of an endpoint." />;
  }
}

/** Shows the tabs that a key for jobs alone may see. */
function JobsPart({ tab, id, failed }: { tab: string; id: string; failed: number }) {
  switch (tab) {
    case 'errors':
      return <Errors id={id} failed={failed} />;
    case 'try':
      return <TryIt id={id} />;
    case 'code':
      return <Code id={id} type="QB" />;
    default:
      return <Jobs id={id} />;
  }
}
