/** The way to the playground from other tabs. */
import { Link } from 'wouter';

/** Shows the link. */
export function PlaygroundHint({ id }: { id: string }) {
  return (
    <p className="hint">
      Workers that answer OpenAI clients can be tried in the{' '}
      <Link href={`/endpoints/${id}/playground`}>playground</Link>.
    </p>
  );
}
