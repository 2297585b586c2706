/** Names by which OpenAI clients know an endpoint's models. */
import { useQuery } from '@tanstack/react-query';
import type { ModelsView } from '../../../../views-of-models.ts';
import { ask } from '../../lib/api.ts';

const NONE: ModelsView = { names: [], served: '' };

/** Returns the names. None while they are read. */
export function useModels(id: string, enabled = true): ModelsView {
  const { data } = useQuery({
    queryKey: ['models', id],
    queryFn: () => ask<ModelsView>('GET', `/api/endpoints/${id}/models`),
    staleTime: 60_000,
    enabled,
  });
  return data ?? NONE;
}
