/** Reads the settings of a form. */
import { useQuery } from '@tanstack/react-query';
import type { FieldView } from '../../../views.ts';
import { ask } from '../lib/api.ts';

/** `kind`: the name of the form. */
export function useFields(kind: string) {
  return useQuery({
    queryKey: ['fields', kind],
    queryFn: () => ask<FieldView[]>('GET', `/api/fields/${kind}`),
    staleTime: Infinity,
  });
}
