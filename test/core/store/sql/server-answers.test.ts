/** A slow database is waited for longer, a silent one is not, and lost connections come back a few at a time. */
import type { Socket } from 'node:net';
import { ServerAnswers } from '@slipway/core/store/sql/server-answers';
import t from 'tap';

const socketWith = (bytesRead: number) => ({ bytesRead, destroyed: false });
const add = (answers: ServerAnswers, socket: ReturnType<typeof socketWith>): void =>
  answers.add(socket as unknown as Socket);

t.test('only a server that has sent something gets more time', async (t) => {
  const answers = new ServerAnswers({ databaseAnswerMs: 5_000 });
  const socket = socketWith(100);
  add(answers, socket);
  const isHeard = answers.listen();
  answers.missed();
  t.equal(answers.limit.ms, 10_000);
  t.equal(isHeard(), false);
  answers.missed();
  t.equal(answers.limit.ms, 10_000, 'nothing came since');
  socket.bytesRead += 1;
  t.equal(isHeard(), true);
  answers.missed();
  t.equal(answers.limit.ms, 20_000);
});

t.test('what a closed connection had received still counts', async (t) => {
  const answers = new ServerAnswers();
  const before = socketWith(0);
  add(answers, before);
  const isHeard = answers.listen();
  before.bytesRead = 7;
  before.destroyed = true;
  add(answers, socketWith(0));
  t.equal(isHeard(), true);
});

t.test('a login of a slow server may take as long as several answers', async (t) => {
  const answers = new ServerAnswers({ databaseAnswerMs: 5_000 });
  t.equal(answers.connectSeconds * 1, 5);
  answers.limit.answered(8_000);
  t.equal(answers.connectSeconds * 1, 72);
});

t.test('a host that says nothing does not hold up the login to another one for long', async (t) => {
  const answers = new ServerAnswers({ databaseAnswerMs: 5_000, hosts: 2 });
  t.equal(answers.connectSeconds * 1, 5);
  answers.limit.answered(8_000);
  t.equal(answers.connectSeconds * 1, 10);
});

t.test('connections lost together reconnect in groups, at spread times', async (t) => {
  const fractions = [0, 0.5, 1];
  let drawn = 0;
  const answers = new ServerAnswers({ random: { fraction: () => fractions[drawn++ % fractions.length]! } });
  const pauses = Array.from({ length: 9 }, () => Math.round(answers.reconnectSeconds(2) * 1_000));
  t.same(pauses, [100, 150, 200, 100, 250, 300, 200, 250, 400]);
});
