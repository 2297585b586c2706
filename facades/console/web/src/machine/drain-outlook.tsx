/** Says what draining a machine will do. */
import { counted } from '../lib/format.ts';

/** Shows it. `standby`: those of the workers that are on standby; `pods`: if their number is known. */
export function DrainOutlook({ workers, standby = 0, pods }: { workers: number; standby?: number; pods?: number }) {
  const end =
    workers === 1
      ? 'it takes no more jobs, finishes its jobs, and ends'
      : 'they take no more jobs, finish their jobs, and end';
  return (
    <div className="body">
      <p>No worker or pod starts or resumes there until you undrain it.</p>
      <ul>
        <li>
          {workers === 0
            ? 'No worker runs there.'
            : `${counted(workers, 'worker')} there: ${end}. Replacements start elsewhere.`}
        </li>
        {standby > 0 && (
          <li>
            {counted(standby, 'standby worker')} of these {standby === 1 ? 'ends' : 'end'} at once.
          </li>
        )}
        <li>{podText(pods)}</li>
      </ul>
    </div>
  );
}

function podText(pods: number | undefined): string {
  if (pods === undefined) return 'Pods stay, with all files.';
  if (pods === 0) return 'It has no pods.';
  return `${counted(pods, 'pod')} there: ${pods === 1 ? 'it stays' : 'they stay'}, with all files.`;
}
