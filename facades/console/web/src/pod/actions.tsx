/** Actions on a pod: stop, start, restart, reset. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../lib/api.ts';

/** Shows the buttons. */
export function PodActions({ id, name, isStopped }: { id: string; name: string; isStopped: boolean }) {
  const queries = useQueryClient();
  const [failure, setFailure] = useState('');
  const act = useMutation({
    mutationFn: (verb: string) => ask('POST', `/api/v1/pods/${id}/${verb}`, {}),
    onSuccess: () => {
      setFailure('');
      return queries.invalidateQueries({ queryKey: ['list', '/api/pods'] });
    },
    onError: (error) => setFailure(error.message),
  });
  const button = (verb: string, text: string) => (
    <button type="button" disabled={act.isPending} onClick={() => act.mutate(verb)}>
      {text}
      <span className="spoken"> {name}</span>
    </button>
  );
  return (
    <>
      {isStopped ? (
        button('start', 'Start')
      ) : (
        <>
          {button('stop', 'Stop')}
          {button('restart', 'Restart')}
        </>
      )}
      {failure !== '' && (
        <span role="alert" className="failure">
          {failure}
        </span>
      )}
    </>
  );
}
