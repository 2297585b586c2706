/** An endpoint: what it does and why, its jobs, its settings, trying it, code for it. */
import { Link } from 'wouter';
import type { EndpointView } from '../../../views.ts';
import { Activity } from '../endpoint/activity.tsx';
import { Code } from '../endpoint/code.tsx';
import { Decisions } from '../endpoint/decisions.tsx';
import { Errors } from '../endpoint/errors.tsx';
import { Jobs } from '../endpoint/jobs.tsx';
import { Releases } from '../endpoint/releases.tsx';
import { Settings } from '../endpoint/settings.tsx';
import { TryIt } from '../endpoint/try-it.tsx';
import { useLive } from '../live.ts';
import type { Live } from '../live.ts';
import { Away, Badge, Empty, Failed, Loading, Trail } from '../parts.tsx';
import { useIsOperator } from '../session.tsx';

const TABS = [
  ['activity', 'Activity'], ['decisions', 'Scaling'], ['jobs', 'Jobs'], ['errors', 'Errors'], ['try', 'Try it'], ['settings', 'Settings'],
  ['releases', 'Releases'], ['code', 'Code'],
] as const;
/** Load-balancing endpoints have no jobs. */
const QUEUE_ONLY = ['jobs', 'errors', 'try'];

/** The page. */
export default function EndpointPage({ id, tab }: { id: string; tab: string }) {
  const live = useLive<EndpointView>(`?endpoint=${encodeURIComponent(id)}`);
  const { view, ended, away } = live;
  if (useIsOperator()) return <Empty title="Endpoints belong to accounts.">Sign in with a key of the account to see this one.</Empty>;
  if (ended !== '') return <><h1>Endpoint</h1><Failed error={ended} /></>;
  if (!view) return <><h1>Endpoint</h1><Loading /></>;
  const { row } = view;
  const tabs = TABS.filter(([name]) => row.type === 'QB' || !QUEUE_ONLY.includes(name));
  return (
    <>
      <Trail steps={[{ text: 'Overview', to: '/' }, { text: row.name }]} />
      <div className="title"><h1>{row.name}</h1><code className="id">{id}</code><Badge word={row.type === 'LB' ? 'load balancing' : 'queue'} /></div>
      <Away text={away} />
      <nav className="tabs" aria-label="Parts of this endpoint">
        {tabs.map(([name, text]) => (
          <Link key={name} href={`/endpoints/${id}/${name}`} {...(name === tab ? { 'aria-current': 'page' as const } : {})}>{text}</Link>
        ))}
      </nav>
      <Part tab={tab} id={id} live={live} view={view} />
    </>
  );
}

function Part({ tab, id, live, view }: { tab: string; id: string; live: Live<EndpointView>; view: EndpointView }) {
  switch (tab) {
    case 'activity': return <Activity view={view} past={live.past} />;
    case 'decisions': return <Decisions view={view} />;
    case 'jobs': return <Jobs id={id} />;
    case 'errors': return <Errors id={id} view={view} />;
    case 'try': return <TryIt id={id} />;
    case 'settings': return <Settings id={id} />;
    case 'releases': return <Releases id={id} />;
    case 'code': return <Code row={view.row} />;
    default: return <Empty title="There is no such part of an endpoint." />;
  }
}
