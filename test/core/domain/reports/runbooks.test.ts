/** Alerts of each kind of problem name a section of docs/operate/alerts.md that exists. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { alertMessage } from '@slipway/core/domain/reports/alert';
import { PROBLEM_KINDS } from '@slipway/core/domain/reports/problem';
import t from 'tap';

const page = 'docs/operate/alerts.md';
const text = readFileSync(join(import.meta.dirname, '../../../..', page), 'utf8');

t.test('every kind of problem has a section that says what to do', async (t) => {
  const headings = text.slice(0, text.indexOf('## Alerts of Prometheus')).matchAll(/^### (.+)$/gm);
  const sections = [...headings].map(([, title]) => `${page}#${title!.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`);
  const runbooks = PROBLEM_KINDS.map((kind) => {
    const problem = {
      kind,
      broken: true,
      about: 'ENDPOINT',
      id: 'e',
      name: '',
      accountId: '',
      jobId: '',
      text: '',
    } as const;
    const alert = { id: 1, problem, beganAt: new Date(0), endedAt: undefined };
    return (JSON.parse(alertMessage('WEBHOOK', { alert, ofEnd: false }).toString()) as { runbook: string }).runbook;
  });
  t.strictSame(sections.toSorted(), runbooks.toSorted());
});
