/** How a reason travels inside a gRPC status. */
import { Metadata, status } from '@grpc/grpc-js';
import { ErrorInfo } from '@slipway/proto/gen/google/rpc/error_details';
import { Status } from '@slipway/proto/gen/google/rpc/status';
import type { Reason } from '@slipway/proto/wire/reason';
import { fromGrpcError, REASONS, toGrpcStatus } from '@slipway/proto/wire/reason';
import t from 'tap';

const KEY = 'grpc-status-details-bin';

function failure(details: Uint8Array, code = status.NOT_FOUND): Error {
  const metadata = new Metadata();
  metadata.set(KEY, Buffer.from(details));
  return Object.assign(new Error('failed'), { code, details: 'what to do', metadata });
}

t.test('every reason comes back, with its text', async (t) => {
  for (const reason of Object.keys(REASONS) as Reason[]) {
    const sent = toGrpcStatus(reason, 'Zwölf 🦊');
    t.equal(sent.code, REASONS[reason].grpc);
    const read = fromGrpcError(Object.assign(new Error(), sent));
    t.same([read.reason, read.message], [reason, 'Zwölf 🦊']);
  }
});

t.test('the bytes are those of google.rpc.Status', async (t) => {
  const [bytes] = toGrpcStatus('JOB_NOT_FOUND', 'no').metadata.get(KEY) as [Buffer];
  const any =
    '0a28747970652e676f6f676c65617069732e636f6d2f676f6f676c652e7270632e4572726f72496e666f' +
    '12180a0d4a4f425f4e4f545f464f554e441207736c6970776179';
  t.equal(bytes.toString('hex'), `080512026e6f1a44${any}`);
});

t.test('a foreign detail before ours does not hide it', async (t) => {
  const info = ErrorInfo.encode({ reason: 'IN_USE', domain: 'slipway', metadata: { of: 'a later build' } }).finish();
  const details = [
    { typeUrl: 'type.googleapis.com/google.rpc.RetryInfo', value: Buffer.from([0x0a, 0x02, 0x08, 0x01]) },
    { typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: Buffer.from(info) },
  ];
  t.equal(fromGrpcError(failure(Status.encode({ code: 9, message: '', details }).finish())).reason, 'IN_USE');
});

t.test('a malformed status counts as none', async (t) => {
  for (const details of [Buffer.from([0xff]), Buffer.from([0x1a, 0x7f, 0x01]), Buffer.alloc(0)]) {
    t.equal(fromGrpcError(failure(details)).reason, 'INTERNAL');
    t.equal(fromGrpcError(failure(details, status.UNAVAILABLE)).reason, 'UNAVAILABLE');
  }
});
