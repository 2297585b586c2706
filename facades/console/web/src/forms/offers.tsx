/** Settings that refer to other resources of the account, which forms offer by name. */
import type { ReactNode } from 'react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { FieldView } from '../../../views.ts';
import { textOf } from '../lib/setting-words.ts';
import type { Offer, Picked } from './pick.tsx';
import { Pick } from './pick.tsx';

/** Templates that endpoints can run. */
export const OF_WORKERS: Offer = {
  path: '/api/templates',
  filters: { 'filter.kind': 'worker' },
  what: 'template',
  none: (
    <>
      There is no template for workers yet. Create one first: <Link href="/templates">Templates</Link>.
    </>
  ),
};

/** Templates that pods can run. */
export const OF_PODS: Offer = {
  path: '/api/templates',
  filters: { 'filter.kind': 'pod' },
  what: 'template',
  none: 'There is no template for pods. Enter below what this pod runs.',
};

const VOLUMES: Offer = { path: '/api/volumes', what: 'network volume', none: 'There is no network volume.' };
const LOGINS: ReactNode = (
  <>
    There is none. Add one: <Link href="/registries">Registry credentials</Link>.
  </>
);

/** Offers by the names of REST, the same in every form. */
export const OFFERS: Readonly<Record<string, Offer>> = {
  networkVolumeId: VOLUMES,
  networkVolumeIds: VOLUMES,
  containerRegistryAuthId: { path: '/api/registries', what: 'registry login', none: LOGINS },
};

/** Shows such a setting. `value`: an id, or a list of ids. `names`: names of ids that are known already. */
export function OfferField({
  field,
  offer,
  value,
  names = {},
  isFixed = false,
  onChange,
}: {
  field: FieldView;
  offer: Offer;
  value: unknown;
  names?: Readonly<Record<string, string>>;
  isFixed?: boolean;
  onChange: (value: string | string[]) => void;
}) {
  const isList = field.kind === 'texts';
  const [chosen, setChosen] = useState<readonly Picked[]>(() =>
    (Array.isArray(value) ? (value as string[]) : value ? [String(value)] : []).map((id) => ({
      id,
      name: names[id] ?? id,
    })),
  );
  const choose = (next: readonly Picked[]): void => {
    setChosen(next);
    const ids = next.map(({ id }) => id);
    onChange(isList ? ids : (ids[0] ?? ''));
  };
  const { label, about } = textOf(field);
  const pick = (
    <Pick
      legend={`${label}${field.required ? ' *' : ''}`}
      about={about}
      offer={offer}
      how={isList ? 'some or none' : field.required ? 'one' : 'one or none'}
      chosen={chosen}
      onChange={choose}
    />
  );
  return isFixed ? (
    <fieldset disabled className="plain">
      {pick}
    </fieldset>
  ) : (
    pick
  );
}
