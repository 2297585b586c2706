/** Deletes a resource after a question, and shows core's reason if that is rejected. */
import { useQueryClient } from '@tanstack/react-query';
import { ask } from '../lib/api.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';

/**
 * Shows the button and its question. `list` is the REST collection, `shown` the console's list, `before` a step that
 * must come first, `note` an extra sentence.
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
