/** Example inputs of queue endpoints: the own one, else the template's, else one that shows the form of an input. */
import { useQuery } from '@tanstack/react-query';
import { ask } from '../lib/api.ts';
import { useSession } from '../lib/session.tsx';

const USUAL = '{"prompt":"a lighthouse at dusk"}';

/** An endpoint as REST shows it, as far as it is read here. */
interface WithExample {
  exampleInput?: string;
  template?: { exampleInput?: string };
}

/** Returns the example as JSON text. The usual one while it is read, and for keys that may not read endpoints. */
export function useExample(id: string): string {
  const { manage } = useSession();
  const { data } = useQuery({
    queryKey: ['example', id],
    queryFn: () => ask<WithExample>('GET', `/api/v1/endpoints/${id}?includeTemplate=true`),
    enabled: manage !== 'none',
  });
  return data?.exampleInput || data?.template?.exampleInput || USUAL;
}
