/** Replaces a folder that other processes may replace at the same time, such as two builds. */
import { renameSync, rmSync } from 'node:fs';

/** Codes of a removal or a rename while another process has put its folder there. */
const IN_THE_WAY = new Set(['ENOTEMPTY', 'EEXIST']);

/** Puts the folder `part` in the place of `folder`. Of several calls at once, the last one's folder stays. */
export function replaceFolder(folder: string, part: string): void {
  for (;;) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return renameSync(part, folder);
    } catch (error) {
      if (!IN_THE_WAY.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}
