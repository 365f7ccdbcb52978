// Parses and echoes, and logs a line for each request as the service does. Logs where it listens.
import Fastify, { LogController } from 'fastify';
import { createLogger } from '../../dist/base/logger.js';

const app = Fastify({
  loggerInstance: createLogger('info'),
  logController: new LogController({ disableRequestLogging: true }),
});
app.addHook('onResponse', async (request, reply) => {
  request.log.info(
    {
      method: request.method,
      path: request.routeOptions.url,
      status: reply.statusCode,
      address: request.ip,
      ms: Math.round(reply.elapsedTime),
    },
    'answered',
  );
});
app.post('/api/v1/tasks', async (request, reply) => reply.code(201).send(request.body));
app.log.info({ url: await app.listen({ host: '127.0.0.1', port: 0 }) }, 'listening');
process.once('SIGTERM', () => app.close());
