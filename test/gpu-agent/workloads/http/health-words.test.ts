import type { ProbeResult } from '@slipway/gpu-agent/workloads/http/health-words';
import { notReadyText, silentText } from '@slipway/gpu-agent/workloads/http/health-words';
import t from 'tap';

const server: ProbeResult = {
  isAskedByGrpc: false,
  healthPath: '/ping',
  port: 8_000,
  healthPort: 8_000,
  wasReady: false,
};
const grpc: ProbeResult = { ...server, isAskedByGrpc: true };

t.test('each cause has its own sentence', async (t) => {
  const shown = (answer: Parameters<typeof notReadyText>[1], of = server): string => notReadyText(of, answer, 58_000);
  t.equal(
    shown(404),
    'its server answers GET /ping on port 8000 with 404 for 55 s: 200 makes it ready, 204 says that it still starts',
  );
  t.equal(
    shown(204),
    'its server answers GET /ping on port 8000 with 204 for 55 s: it still starts, and 200 makes it ready',
  );
  t.equal(
    shown('SLOW'),
    'its server takes longer than 2 s to answer GET /ping on port 8000 for 55 s: 200 makes it ready, 204 says ' +
      'that it still starts',
  );
  t.match(
    shown('REFUSED'),
    /^nothing listens on port 8000 for 55 s: a worker of a load-balancing endpoint must listen on the port that the variable PORT says/,
  );
  t.match(
    shown('REFUSED', { ...server, healthPort: 8_001 }),
    /^nothing listens on port 8001 .* the variable PORT_HEALTH says/,
  );
  t.match(shown('CUT'), /^its server ends the connection without an answer to GET \/ping on port 8000/);
  t.match(
    shown(503, grpc),
    /^its server answers grpc\.health\.v1\.Health\/Check on port 8000 with another status than SERVING for 55 s$/,
  );
  t.equal(shown(200), '');
  const silent = (answer: Parameters<typeof notReadyText>[1]): string => silentText(server, answer, 480_000);
  t.match(
    silent('REFUSED'),
    /^GET \/ping on port 8000 has answered neither 200 nor 204 for 480 s\. Nothing listens there: .* must listen/,
  );
  t.match(silent(404), /480 s\. Its server answers with 404: HEALTH_CHECK_PATH names another path than \/ping\.$/);
  t.match(silent('SLOW'), /480 s\. Its server takes longer than 2 s to answer\.$/);
});

t.test('a start of seconds is not reported, a long one in steps', async (t) => {
  t.equal(notReadyText(server, 'REFUSED', 2_900), '');
  t.match(notReadyText({ ...server, wasReady: true }, 503, 0), /with 503: 200 makes/, 'of one that was ready at once');
  const texts = new Set(Array.from({ length: 8 * 60 }, (_, second) => notReadyText(server, 404, second * 1_000)));
  t.ok(texts.size < 50, `${texts.size} reports in 8 minutes`);
  t.match(notReadyText(server, 204, 3_599_000), / for 59 min:/);
});
