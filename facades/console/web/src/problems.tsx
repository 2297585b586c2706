/** What is wrong right now, each with its reason and the page that tells more. */
import { Link } from 'wouter';
import type { Problem } from '../../views.ts';
import { Badge, Panel } from './parts.tsx';
import { unbroken } from './words.ts';

/** The panel; nothing where all is well. `hasLinks`: they are of several pages. */
export function Problems({ problems, hasLinks = false }: { problems: readonly Problem[]; hasLinks?: boolean }) {
  if (problems.length === 0) return null;
  return (
    <Panel title="Wrong now" aside={<span className="number">{problems.length}</span>}>
      <ul className="problems">
        {problems.map(({ level, name, path, text }) => (
          <li key={`${path} ${text}`} className={level}>
            <Badge word={level === 'bad' ? 'broken' : 'waits'} tone={level} /> {hasLinks && <Link href={path}>{name}</Link>} <span>{unbroken(text)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
