/** Which shape an error has where no route says so. */

import {
  openaiErrorShape,
  problemShape,
  queueErrorShape,
  restErrorShape,
} from '@slipway/facades/plugins/errors/error-handler';
import { shapeOf } from '@slipway/facades/plugins/errors/unknown-route';
import t from 'tap';

t.test('by surface', async (t) => {
  for (const path of ['/v1', '/v1/pods', '//v1//pods']) t.equal(shapeOf(path), restErrorShape, path);
  t.equal(shapeOf('/v2/e/openai/v1/models'), openaiErrorShape);
  t.equal(shapeOf('//v2//e//openai/v1/models'), openaiErrorShape);
  t.equal(shapeOf('//openai/v1/models'), openaiErrorShape);
  for (const path of ['/v2/pods', '//v2//templates/x', '/v2/%70ods']) t.equal(shapeOf(path), problemShape, path);
  const others = ['/', '/v2/e/run', '/graphql', '/v2/e/openaix', '/openaix', '/v3/e/openai/v1'];
  for (const path of others) t.equal(shapeOf(path), queueErrorShape, path);
});
