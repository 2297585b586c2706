/** The example of a request that endpoints and templates carry (docs/reference/management.md#endpoints). */
import type { Field } from './field.ts';

const OF_ENDPOINT =
  'Example of a request, a JSON object as text: the input of a job, or of type LB its method, path and body. ' +
  'The console and code samples show it.';
const OF_TEMPLATE =
  'Example of a request to endpoints that run it, a JSON object as text. An example of the endpoint goes before it.';

/** As in the table of endpoints. */
export const ENDPOINT_EXAMPLE = exampleField(
  OF_ENDPOINT,
  'example that people are shown: the input of a job, of type LB {"method", "path", "body"}; "" for none',
);

/** As in the table of templates. */
export const TEMPLATE_EXAMPLE = exampleField(
  OF_TEMPLATE,
  'example that people are shown, for endpoints without one of their own; "" for none',
);

function exampleField(about: string, cliAbout: string) {
  return {
    kind: { is: 'text', max: 65_536, none: true },
    rest: { name: 'exampleInput', in: `${about} An extension.`, out: `${about} An extension.` },
    graphql: {
      name: 'exampleInput',
      in: `${about} An extension.`,
      out: 'Example of a request, as JSON. Null: none. An extension.',
    },
    cli: { option: '--example-input <json>', about: cliAbout, row: 'example input' },
  } as const satisfies Field;
}
