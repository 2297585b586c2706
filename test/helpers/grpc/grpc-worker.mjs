// A gRPC server as load-balancing endpoints run them: an echo of bytes, whole and streamed, with the metadata that it
// was sent.
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';

const same = (value) => value;
const bytes = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };
const Echo = {
  whole: { path: '/test.Echo/Whole', requestStream: false, responseStream: false, ...bytes },
  flow: { path: '/test.Echo/Flow', requestStream: false, responseStream: true, ...bytes },
  stream: { path: '/test.Echo/Stream', requestStream: true, responseStream: true, ...bytes },
};
const trailers = (call) => {
  const told = new Metadata();
  told.set('x-seen', Object.keys(call.metadata.getMap()).sort().join());
  return told;
};
const server = new Server({ 'grpc.max_receive_message_length': -1 });
server.addService(Echo, {
  whole: (call, done) => {
    if (String(call.request) === 'fail')
      done({ code: status.FAILED_PRECONDITION, details: 'as asked', metadata: trailers(call) });
    else done(null, call.request, trailers(call));
  },
  // Sends as many MiB as requested, as fast as they are read.
  flow: (call) => {
    let left = Number(String(call.request));
    const write = () => {
      while (left > 0) {
        left -= 1;
        if (!call.write(Buffer.alloc(1_048_576))) return call.once('drain', write);
      }
      call.end();
    };
    write();
  },
  stream: (call) => {
    call.on('data', (message) => call.write(message));
    call.on('end', () => call.end(trailers(call)));
  },
});
setTimeout(
  () => {
    server.bindAsync(`127.0.0.1:${process.env.PORT}`, ServerCredentials.createInsecure(), () => undefined);
  },
  Number(process.env.START_MS ?? 0),
);
