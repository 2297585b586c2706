/** Code that sends the request of the playground. */
import { Samples } from '../../ui/samples.tsx';
import { openaiCode } from './openai-code.ts';
import type { OpenaiEndpoint, OpenaiRequest } from './openai-send.ts';

/** Shows the samples, collapsed. */
export function ViewCode({ endpoint, request }: { endpoint: OpenaiEndpoint; request: OpenaiRequest }) {
  return (
    <details className="code-samples">
      <summary>View code</summary>
      <Samples samples={openaiCode(window.location.origin, endpoint, request)} />
    </details>
  );
}
