// The routes of `svc-agent spool`, on the unix socket alone: export, and records that were set aside.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type Params, routes } from '../../protocol/routes.ts';
import { agentError } from '../errors.ts';
import { exportLines } from '../spool/export.ts';
import type { LocalDeps } from './call.ts';
import { checkTask } from './tasks.ts';

export function addSpoolRoutes(app: FastifyInstance, deps: LocalDeps): void {
  const { spool } = deps;
  const params = routes.completeTask.params;
  app.get('/api/v1/spool', async (_, reply) => {
    // Commits the samples and events that were accepted before.
    await spool.update(() => {});
    return reply.type('application/x-ndjson').send(Readable.from(exportLines(spool)));
  });
  const body = {
    type: 'object',
    properties: { task_id: params.properties.id },
    required: ['task_id'],
    additionalProperties: false,
  };
  app.post('/api/v1/set-aside/resend', async () => {
    const queued = await spool.resendSetAside();
    deps.logger.warn({ records: queued }, 'set-aside records queued again');
    return { queued };
  });
  app.post('/api/v1/set-aside/:id/retarget', { schema: { params, body } }, async (request) => {
    const { id } = request.params as Params<'completeTask'>;
    const { task_id: taskId } = request.body as { task_id: string };
    await checkTask(deps, taskId);
    const outcome = await spool.retargetCompletion(id, taskId);
    if (outcome === 'absent') throw notSetAside(id);
    if (outcome === 'in_use') {
      throw agentError('id_conflict', `Task ${taskId} already has a completion.`);
    }
    deps.logger.warn({ task: id, new_task: taskId }, 'completion retargeted');
    return { task_id: taskId, proof_hash: outcome.proofHash, state: 'queued' };
  });
  app.post('/api/v1/set-aside/:id/drop', { schema: { params } }, async (request) => {
    const { id } = request.params as Params<'completeTask'>;
    const dropped = await spool.dropCompletion(id);
    if (dropped === null) throw notSetAside(id);
    const { code, message } = dropped;
    deps.logger.warn({ task: id, code }, 'completion dropped');
    return { task_id: id, code, message, proof: JSON.parse(dropped.body) };
  });
}

function notSetAside(id: string) {
  return agentError('not_found', `No completion of task ${id} is set aside.`);
}
