/** The frame around every page: navigation, session, theme. */
import type { ReactNode } from 'react';
import { Link, useRoute } from 'wouter';
import { useIsOperator, useSession, useSignOut } from '../lib/session.tsx';
import { useTheme } from '../lib/theme.ts';
import { useScrollToCurrent } from '../lib/use-scroll-to-current.ts';
import { FindJob } from './find-job.tsx';

const OF_ACCOUNT = [
  ['/', 'Overview'],
  ['/jobs', 'Jobs'],
  ['/templates', 'Templates'],
  ['/pods', 'Pods'],
  ['/volumes', 'Volumes'],
  ['/registries', 'Registries'],
  ['/secrets', 'Secrets'],
  ['/keys', 'Keys'],
  ['/usage', 'Usage'],
  ['/alerts', 'Alerts'],
  ['/audit', 'Audit'],
] as const;
/** Pages for a key for jobs alone: it may not see the others. */
const OF_JOBS = [
  ['/', 'Overview'],
  ['/jobs', 'Jobs'],
] as const;
const OF_OPERATOR = [
  ['/', 'Overview'],
  ['/jobs', 'Jobs'],
  ['/machines', 'Machines'],
  ['/accounts', 'Accounts'],
  ['/prices', 'Prices'],
  ['/usage', 'Usage'],
  ['/alerts', 'Alerts'],
  ['/keys', 'Keys'],
  ['/audit', 'Audit'],
] as const;

/** Shows the frame. */
export function Frame({ children }: { children: ReactNode }) {
  const isOperator = useIsOperator();
  const { manage, version } = useSession();
  const ofKey = manage === 'none' ? OF_JOBS : OF_ACCOUNT;
  return (
    <>
      <a className="skip" href="#content">
        Skip to the page
      </a>
      <header className="top">
        <Link href="/" className="brand">
          Slipway
        </Link>
        <nav aria-label="Pages" ref={useScrollToCurrent()}>
          {(isOperator ? OF_OPERATOR : ofKey).map(([path, text]) => (
            <Place key={path} path={path} text={text} />
          ))}
        </nav>
        <FindJob />
        <Who />
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <footer className="foot">
        <span>Slipway {version}</span>
        <a href="/v2/docs">API reference</a>
      </footer>
    </>
  );
}

function Place({ path, text }: { path: string; text: string }) {
  const [isHere] = useRoute(path);
  return (
    <Link href={path} {...(isHere ? { 'aria-current': 'page' as const } : {})}>
      {text}
    </Link>
  );
}

function Who() {
  const { accountName, manage, jobs } = useSession();
  const signOut = useSignOut();
  const [theme, setTheme] = useTheme();
  const mayChange = manage === 'write' || jobs === 'write';
  return (
    <div className="who">
      <span className="name" title={mayChange ? accountName : `${accountName}: this key may read, and change nothing.`}>
        {accountName}
        {mayChange ? '' : ' · read only'}
      </span>
      <label className="spoken" htmlFor="theme">
        Colours
      </label>
      <select id="theme" value={theme} onChange={({ target }) => setTheme(target.value as typeof theme)}>
        <option value="">Auto</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
      <button type="button" className="quiet" onClick={() => void signOut()}>
        Sign out
      </button>
    </div>
  );
}
