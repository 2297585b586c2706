/** Which shape an error has where no route says so. */
import t from 'tap';
import { openaiErrorShape, queueErrorShape, restErrorShape } from '../../../facades/plugins/error-handler.ts';
import { shapeOf } from '../../../facades/plugins/unknown-route.ts';

t.test('by surface', async (t) => {
  for (const path of ['/v1', '/v1/pods', '//v1//pods']) t.equal(shapeOf(path), restErrorShape, path);
  t.equal(shapeOf('/v2/e/openai/v1/models'), openaiErrorShape);
  t.equal(shapeOf('//v2//e//openai/v1/models'), openaiErrorShape);
  for (const path of ['/', '/v2/e/run', '/graphql', '/v2/e/openaix']) t.equal(shapeOf(path), queueErrorShape, path);
});
