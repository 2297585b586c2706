/** The Output panel of a job. */
import { outputOf, PayloadView } from './payload-view.tsx';

/** Shows the panel. */
export function OutputView({ endpointId, jobId, state }: { endpointId: string; jobId: string; state: string }) {
  return (
    <PayloadView
      title="Output"
      path={`/api/v2/${endpointId}/status/${jobId}`}
      name={`${jobId}.json`}
      version={state}
      find={outputOf}
    />
  );
}
