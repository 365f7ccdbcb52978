import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';

/**
 * A proxy before a service that counts calls: all of them, and those about tasks.
 *
 * @param {string} service
 */
export async function startCallCounter(service) {
  const counts = { all: 0, tasks: 0 };
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    counts.all += 1;
    if (url.startsWith('/api/v1/tasks')) counts.tasks += 1;
    const sent = request(`${service}${url}`, { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy());
    incoming.pipe(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    async close() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await once(server, 'close');
    },
  };
}
