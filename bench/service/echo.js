// Parses and echoes. Tells where it listens.
import Fastify from 'fastify';
import { createLogger } from '../../dist/base/logger.js';

const app = Fastify({ loggerInstance: createLogger('info'), disableRequestLogging: true });
app.post('/api/v1/tasks', async (request, reply) => reply.code(201).send(request.body));
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
process.once('SIGTERM', () => app.close().then(() => process.disconnect()));
