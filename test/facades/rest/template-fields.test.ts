/** Template settings of the REST surface as contract fields (docs/reference/management.md#templates). */

import { newTemplateFields, templateFields } from '@slipway/facades/rest/templates/template-fields';
import t from 'tap';

t.test('only what was given is changed', async (t) => {
  t.same(templateFields({}), { changes: {}, mask: [] });
  t.same(templateFields({ isPublic: false, volumeInGb: 0, dockerStartCmd: [] }), {
    changes: { startCommand: [], volumeGb: 0, public: false },
    mask: ['start_command', 'volume_gb', 'public'],
  });
});

t.test('a new one has the defaults of docs/reference/management.md#templates, endpoints use neither', async (t) => {
  const named = { name: 'n', imageName: 'x' };
  t.match(newTemplateFields(named), { volumeGb: 20, ports: ['8888/http', '22/tcp'] });
  t.same(newTemplateFields({ ...named, volumeInGb: 0, ports: [] }), {
    name: 'n',
    imageName: 'x',
    volumeGb: 0,
    ports: [],
  });
  t.same(newTemplateFields({ ...named, isServerless: true }), { name: 'n', imageName: 'x', serverless: true });
});
