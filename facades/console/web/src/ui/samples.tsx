/** Code samples with a button that copies each. */
import { CopyButton } from './copy-button.tsx';
import { Panel } from './parts.tsx';

/** Shows samples in separate panels, each with a copy button. */
export function Samples({ samples }: { samples: readonly (readonly [title: string, text: string])[] }) {
  return samples.map(([title, text]) => <Sample key={title} title={title} text={text} />);
}

function Sample({ title, text }: { title: string; text: string }) {
  return (
    <Panel title={title} aside={<CopyButton text={text} />}>
      <pre className="viewer" tabIndex={0} role="group" aria-label={title}>
        {text}
      </pre>
    </Panel>
  );
}
