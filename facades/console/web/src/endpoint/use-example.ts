/** Example of a request to an endpoint, as core chooses it. */
import { useQuery } from '@tanstack/react-query';
import type { ExampleView } from '../../../views-of-settings.ts';
import { ask } from '../lib/api.ts';

/** Returns the example; `undefined` while it is read, and for keys that may not send requests. */
export function useExample(id: string): ExampleView | undefined {
  const { data } = useQuery({
    queryKey: ['example', id],
    queryFn: () => ask<ExampleView>('GET', `/api/endpoints/${id}/example`),
    // It must not change under the reader.
    refetchOnWindowFocus: false,
    refetchInterval: false,
  });
  return data;
}
