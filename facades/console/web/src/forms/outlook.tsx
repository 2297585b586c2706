/** Says what a change of a template, a network volume or a pod will do, before it is saved. */
import { useQuery } from '@tanstack/react-query';
import type { FieldView, ListView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { count } from '../lib/format.ts';

/** Settings by name. */
export type Values = Readonly<Record<string, unknown>>;

/** Kinds of resource that the form changes. */
export type Editable = 'template' | 'volume' | 'pod';

/** Settings of a pod that change without a restart. */
const LIVE_POD_SETTINGS = ['name', 'locked'];
/** Most endpoints that are named, and most that are counted. */
const NAMED_MAX = 5;
const COUNTED_MAX = 1_000;

/** Returns the sentence. `names` are the changed settings, `before` the values as they are now. */
export function Outlook({
  kind,
  id,
  names,
  fields,
  before,
}: {
  kind: Editable;
  id: string;
  names: readonly string[];
  fields: readonly FieldView[];
  before: Values;
}) {
  switch (kind) {
    case 'template':
      return (
        <TemplateOutlook
          id={id}
          replacesWorkers={fields.some(({ name, inPlace }) => !inPlace && names.includes(name))}
        />
      );
    case 'volume':
      return names.includes('size')
        ? 'It grows, and usage counts its new size. Its files stay. It can never be made smaller.'
        : 'It is renamed.';
    case 'pod':
      if (names.every((name) => LIVE_POD_SETTINGS.includes(name))) return 'The pod keeps running.';
      return before['desiredStatus'] === 'RUNNING'
        ? 'The pod is reset: it is stopped and started again, and the files on its own disk are deleted. Files on a ' +
            'network volume stay.'
        : 'It is stopped. It gets the new settings when it is started.';
  }
}

function TemplateOutlook({ id, replacesWorkers }: { id: string; replacesWorkers: boolean }) {
  const asked = new URLSearchParams({ 'filter.template': id, size: String(COUNTED_MAX) });
  const { data } = useQuery({
    queryKey: ['uses', id],
    queryFn: () => ask<ListView>('GET', `/api/endpoints?${asked}`),
    enabled: replacesWorkers,
  });
  if (!replacesWorkers) return 'No worker is replaced.';
  if (!data) return 'Workers of the endpoints that use it are replaced.';
  const { rows: users, next } = data;
  if (users.length === 0) return 'No endpoint of this account uses it.';
  const named = users
    .slice(0, NAMED_MAX)
    .map(({ name }) => `“${name}”`)
    .join(', ');
  const more =
    users.length <= NAMED_MAX ? '' : ` and ${next === '' ? '' : 'over '}${count(users.length - NAMED_MAX)} more`;
  const whose =
    users.length === 1
      ? `The endpoint ${named} gets`
      : `${next === '' ? '' : 'Over '}${count(users.length)} endpoints get`;
  const which = users.length === 1 ? '' : `: ${named}${more}`;
  return `${whose} a new version${which}. Its workers finish their jobs and are replaced.`;
}
