/** Cached models of an endpoint, and how far machines are with them. */
import type { EndpointView } from '../../../views.ts';
import { coreText } from '../lib/core-text.ts';
import { Badge, Panel } from '../ui/parts.tsx';

type Model = EndpointView['models'][number];

/** Shows the panel; nothing if the endpoint refers to no model. */
export function Models({ models }: Pick<EndpointView, 'models'>) {
  if (models.length === 0) return null;
  return (
    <Panel title="Models" aside="kept by machines, for its workers">
      <ul className="problems">
        {models.map((model) => (
          <li key={model.reference}>
            <strong>{model.reference}</strong> <State model={model} />{' '}
            {coreText(model.change === '' ? model.reason : `${model.reason} – ${model.change}`)}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function State({ model: { ready, downloading, failed } }: { model: Model }) {
  if (ready > 0) return <Badge word="ready" tone="good" />;
  if (downloading > 0) return <Badge word="downloading" tone="warn" />;
  return failed > 0 ? <Badge word="failed" tone="bad" /> : <Badge word="on no machine" />;
}
