/** Reads the settings of a form. */
import { useQuery } from '@tanstack/react-query';
import type { FieldView } from '../../../views.ts';
import { ask } from '../lib/api.ts';

/** Loads the fields of a form. `kind`: its name. */
export function useFields(kind: string) {
  return useQuery({
    queryKey: ['fields', kind],
    queryFn: () => ask<FieldView[]>('GET', `/api/fields/${kind}`),
    staleTime: Infinity,
  });
}
