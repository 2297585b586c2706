/** The dashboards of deploy/grafana. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../../deploy/grafana');

/** A panel that shows something. */
export interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number };
  targets: { expr: string; legendFormat?: string }[];
}

/** A variable, whose value the reader chooses. */
export interface Variable {
  name: string;
  type: string;
  /** How its values are found. */
  definition?: string;
  multi?: boolean;
  includeAll?: boolean;
}

/** One dashboard. */
export interface Dashboard {
  file: string;
  uid: string;
  variables: Variable[];
  /** Headings too. */
  all: Omit<Panel, 'targets'>[];
  panels: Panel[];
}

/** Returns all dashboards. */
export function dashboards(): Dashboard[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const { uid, templating, panels } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
        uid: string;
        templating: { list: Variable[] };
        panels: (Panel & { type: string })[];
      };
      return {
        file,
        uid,
        variables: templating.list,
        all: panels,
        panels: panels.filter(({ type }) => type !== 'row'),
      };
    });
}
