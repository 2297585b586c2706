/** Current problems, each with its reason and a link. */
import { Link } from 'wouter';
import type { ProblemsView } from '../../../views.ts';
import { coreText } from '../lib/core-text.ts';
import { count } from '../lib/format.ts';
import { Badge, Panel } from './parts.tsx';

/** Shows the panel; nothing if there are no problems. `hasLinks` if they belong to several pages. */
export function Problems({ problems, problemCount, hasLinks = false }: ProblemsView & { hasLinks?: boolean }) {
  if (problemCount === 0) return null;
  const shown =
    problems.length < problemCount ? `the worst ${problems.length} of ${count(problemCount)}` : String(problemCount);
  return (
    <Panel title="Problems" aside={<span className="number">{shown}</span>}>
      <ul className="problems">
        {problems.map(({ kind, level, name, path, text }) => (
          <li key={`${kind} ${path} ${name} ${text}`} className={level}>
            <Badge word={level === 'bad' ? 'error' : 'waiting'} tone={level} />{' '}
            {hasLinks && (path === '' ? <strong>{name}</strong> : <Link href={path}>{name}</Link>)}{' '}
            <span>{coreText(text)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
