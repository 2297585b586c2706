/** The usual cause of an exit before the worker served, as a sentence for its owner. */
import { LogRing } from '@slipway/gpu-agent/launch/log-ring';
import { WorkerEnd } from '@slipway/gpu-agent/workloads/workers/worker-end';
import { HttpServer, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';

/** Returns the reason of a worker whose program ended with this code. */
function reasonOf(code: number, spec: Partial<WorkerSpec> = {}, asked = false): string {
  const end = new WorkerEnd(WorkerSpec.fromPartial(spec));
  end.exited({ code, signal: undefined, failure: undefined }, asked, new LogRing(1_024));
  return end.reason;
}

t.test('an exit code that has a usual cause gets the sentence that says so', async (t) => {
  t.match(
    reasonOf(0),
    /exit code 0 before it asked for work\. Its program ran to its end: .*runpod\.serverless\.start/,
  );
  t.match(reasonOf(0, { httpServer: HttpServer.fromPartial({}) }), /before it was ready\. .* on PORT/);
  t.match(reasonOf(126), /exit code 126 .*may not be executed: the user that runs workers .* cannot open \/root\.$/);
  t.match(reasonOf(126, { imageName: 'a/b' }), /may not be executed: check its permissions in the image\.$/);
  t.match(reasonOf(127), /exit code 127 .* not found: check the command, and what is installed on the machine\.$/);
  t.match(reasonOf(127, { imageName: 'a/b' }), /what is installed in the image\.$/);
});

t.test('other codes, and programs that served before, get none', async (t) => {
  t.equal(reasonOf(1), 'The worker ended with exit code 1 before it asked for work.');
  t.equal(reasonOf(0, {}, true), 'The worker ended with exit code 0.');
  t.equal(reasonOf(127, {}, true), 'The worker ended with exit code 127.');
});
