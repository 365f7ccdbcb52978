import { describe, expect, it } from 'vitest';
import { newEvidence, startServiceWithRobot } from '../../support/service.ts';
import { type OpenedStream, openStream } from '../../support/stream.ts';

describe('the stream of anchors', () => {
  it('reports a task at each state of its anchor, and the credit that it costs', async () => {
    const { service, owner, robot } = await startServiceWithRobot({ chain: 'mining' });
    const taskId = await service.claim(robot);
    const stream = await openStream(service.url, owner);
    await stream.next();

    expect((await service.complete(robot, taskId, newEvidence())).status).toBe(200);

    const kinds = new Set<string>();
    await waitForKinds(stream, kinds, taskId, ['anchor', 'credit', 'task']);
    await service.close();
    expect(await stream.next()).toBeNull();
  });
});

async function waitForKinds(
  stream: OpenedStream,
  kinds: Set<string>,
  taskId: string,
  wanted: readonly string[],
): Promise<void> {
  while (!wanted.every((kind) => kinds.has(kind))) {
    const message = await stream.next();
    for (const { kind, id } of message?.changes ?? []) if (id === taskId) kinds.add(kind);
  }
}
