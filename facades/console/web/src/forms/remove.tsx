/** Deleting something, which asks first and says what core says when that cannot be. */
import { useQueryClient } from '@tanstack/react-query';
import { ask } from '../lib/api.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';

/**
 * The button with its question. `list`: what REST lists it under; `shown`: the console's list of it; `before`: what
 * must be done first; `note`: what stays.
 */
export function Remove({
  id,
  name,
  list,
  shown = list,
  note,
  before,
  onDone,
}: {
  id: string;
  name: string;
  list: string;
  shown?: string;
  note?: string | undefined;
  before?: () => Promise<unknown>;
  onDone?: () => void;
}) {
  const queries = useQueryClient();
  return (
    <DialogButton text="Delete" className="danger" spoken={name}>
      {(close) => {
        const remove = async (): Promise<void> => {
          await before?.();
          await ask('DELETE', `${list}/${id}`);
          close();
          await queries.invalidateQueries({ queryKey: ['list', shown] });
          onDone?.();
        };
        return (
          <DialogForm title={`Delete ${name}?`} action="Delete it" danger onSubmit={remove} onClose={close}>
            <p className="body">
              <strong>{name}</strong> (<code>{id}</code>) cannot be restored.
            </p>
            {note && <p className="body">{note}</p>}
          </DialogForm>
        );
      }}
    </DialogButton>
  );
}
