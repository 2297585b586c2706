/** Names of images, the words about a pull, and what an engine's words mean. */

import { fullName, parseImageName } from '@slipway/gpu-agent/images/image-name';
import { pullFailure } from '@slipway/gpu-agent/images/pull-failure';
import { PullProgress, sizeText } from '@slipway/gpu-agent/images/pull-progress';
import { endReason } from '@slipway/gpu-agent/launch/end-reason';
import t from 'tap';

const DIGEST = `sha256:${'a'.repeat(64)}`;

t.test('names in full', async (t) => {
  const rows: [written: string, full: string | undefined][] = [
    ['debian', 'docker.io/library/debian:latest'],
    ['ollama/ollama:0.5', 'docker.io/ollama/ollama:0.5'],
    ['localhost/x', 'localhost/x:latest'],
    ['ghcr.io/a/b/c:v1', 'ghcr.io/a/b/c:v1'],
    ['127.0.0.1:5000/a', '127.0.0.1:5000/a:latest'],
    [`a/b@${DIGEST}`, `docker.io/a/b@${DIGEST}`],
    [`a/b:1@${DIGEST}`, `docker.io/a/b@${DIGEST}`],
    ['a/b@sha256:12', undefined],
    ['', undefined],
    ['A/B', undefined],
    ['a b', undefined],
    ['a:', undefined],
    ['x@y@z', undefined],
    ['/x', undefined],
  ];
  for (const [written, full] of rows) {
    const name = parseImageName(written);
    t.equal(name && fullName(name), full, written);
  }
});

t.test('progress of a pull', async (t) => {
  const progress = new PullProgress('ollama/ollama:latest');
  t.equal(progress.text(), 'pulling ollama/ollama:latest');
  progress.take({ status: 'Pulling from ollama/ollama', id: 'latest' });
  progress.take({ status: 'Pulling fs layer', id: 'a' });
  progress.take({ status: 'Pulling fs layer', id: 'b' });
  t.equal(progress.text(), 'pulling ollama/ollama:latest: 0 of 2 layers');
  progress.take({ status: 'Downloading', id: 'a', progressDetail: { current: 1_000_000_000, total: 2_000_000_000 } });
  t.equal(progress.text(), 'pulling ollama/ollama:latest: 0 of 2 layers, 1.0 GB');
  progress.take({ status: 'Downloading', id: 'b', progressDetail: { current: 204_000_000, total: 800_000_000 } });
  t.equal(progress.text(), 'pulling ollama/ollama:latest: 43 % of 2.8 GB');
  progress.take({ status: 'Pull complete', id: 'a' });
  progress.take({ status: 'Download complete', id: 'b' });
  t.equal(progress.text(), 'pulling ollama/ollama:latest: 100 % of 2.8 GB');
});

t.test('sizes', async (t) => {
  t.same([0, 999, 1_500, 12_345_678, 2_800_000_000].map(sizeText), ['0 B', '999 B', '1.5 kB', '12 MB', '2.8 GB']);
});

t.test('messages of engines', async (t) => {
  const rows: [words: string, failure: string, mayPass: boolean][] = [
    [
      '(HTTP code 404) unexpected - pull access denied for x/y, repository does not exist or may require ' +
        "'docker login'",
      'NO_ACCESS',
      false,
    ],
    ['manifest for x/y:1 not found: manifest unknown: manifest unknown', 'NOT_FOUND', false],
    ['reading manifest 1 in q.io/x/y: unauthorized: authentication required', 'NO_ACCESS', false],
    ['write /var/lib/docker/tmp/x: no space left on device', 'NO_SPACE', false],
    ['no matching manifest for linux/amd64 in the manifest list entries', 'WRONG_PLATFORM', false],
    [
      'choosing an image from manifest list docker://x: no image found in manifest list for architecture amd64',
      'WRONG_PLATFORM',
      false,
    ],
    ['toomanyrequests: You have reached your pull rate limit.', 'UNREACHABLE', true],
    ['received unexpected HTTP status: 503 Service Unavailable', 'UNREACHABLE', true],
    [
      'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host',
      'UNREACHABLE',
      true,
    ],
    ['net/http: TLS handshake timeout', 'UNREACHABLE', true],
    ['unexpected EOF', 'UNREACHABLE', true],
    [
      'pinging container registry q.io: Get "https://q.io/v2/": tls: first record does not look like a TLS handshake',
      'UNREACHABLE',
      false,
    ],
    ['something nobody heard of', 'REFUSED', false],
  ];
  for (const [words, failure, mayPass] of rows) {
    const found = pullFailure({ name: 'x/y:1', registry: 'q.io', words });
    t.same([found.error.failure, found.mayPass], [failure, mayPass], words);
    t.match(found.error.message, 'x/y:1');
  }
  const named = { name: 'lab/denied:404', registry: 'q.io', words: 'reading manifest 404 in lab/denied: i/o timeout' };
  t.equal(pullFailure(named).mayPass, true, 'a name is no answer');
});

t.test('a refusal names the credentials that were refused', async (t) => {
  const said = (words: string, credentials?: { username: string; password: string; name?: string }): string =>
    pullFailure({ name: 'x/y:1', registry: 'q.io', words, credentials }).error.message;
  const mine = { username: 'me', password: 's3cret-pass', name: 'hub' };
  const wrong = 'unable to retrieve auth token: invalid username/password: unauthorized: authentication required';
  t.equal(
    said(wrong, mine),
    'q.io refused the registry credentials hub (user me) for x/y:1: correct their username and password, ' +
      'or name others',
  );
  t.match(
    said(wrong, { ...mine, name: '' }),
    /^q\.io refused the registry credentials \(user me\) for x\/y:1/,
    'of a core that does not say their name',
  );
  const denied = 'denied: requested access to the resource is denied';
  t.match(said(denied, mine), /^q\.io gives the registry credentials hub \(user me\) no access to x\/y:1, or it does/);
  t.equal(
    said(wrong),
    'q.io gives no access to x/y:1, or it does not exist: name registry credentials that may pull it',
  );
  t.notMatch([wrong, 'denied'].map((words) => said(words, mine)).join(), mine.password);
});

t.test('a long message of an engine is cut between words', async (t) => {
  const words = `${'word '.repeat(100)}and its end`;
  const { message } = pullFailure({ name: 'x/y:1', registry: 'q.io', words }).error;
  t.match(message, /^x\/y:1 could not be pulled: … word .* and its end$/);
  const exit = { code: undefined, signal: undefined, failure: 'handshake '.repeat(100) };
  t.match(endReason(exit, '', Buffer.alloc(0)), /^The worker could not be started: (handshake )+…\.$/);
});

t.test('a pull that begins anew says so', async (t) => {
  const progress = new PullProgress('a/b:1', true);
  t.equal(progress.text(), 'pulling a/b:1 again, from the beginning');
  progress.take({ status: 'Downloading', id: 'a', progressDetail: { current: 1, total: 100 } });
  t.equal(progress.text(), 'pulling a/b:1 again, from the beginning: 1 % of 100 B');
});
