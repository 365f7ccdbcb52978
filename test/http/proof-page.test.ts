import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  newEvidence,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

let service: TestService;
let robot: TestRobot;
beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  robot = await service.makeRobot(await service.signIn(), `</title><script>$'"arm`);
});
afterAll(() => service.close());

const page = async (path: string, accept = 'text/html,application/xhtml+xml') => {
  const response = await fetch(service.url + path, { headers: { accept } });
  return { response, html: await response.text() };
};

async function anchored(title: string) {
  const taskId = await service.claim(robot, { title });
  const { body } = await service.complete(robot, taskId, newEvidence());
  return { taskId, receipt: body.verification };
}

/** Waits until the block of a receipt is final. */
async function finalized({ taskId, receipt }: Awaited<ReturnType<typeof anchored>>) {
  await service.rpc('anvil_mine', ['0x64']);
  await waitFor('the final anchor', async () => {
    const found = await service.store.findPublicAnchor(receipt.proof_hash, taskId);
    return found?.task.completion?.receipt?.finality === 'finalized';
  });
}

// The last test ends the chain.
describe('the page of a proof', { shuffle: false }, () => {
  it('has only a title before the anchor is final', async () => {
    const { receipt } = await anchored('Sort the parcels');

    const { html } = await page(`/verify/${receipt.proof_hash}`);

    expect(html).toContain(`<title>Proof ${receipt.proof_hash.slice(0, 10)}…`);
    expect(html).toContain('<div id="root"><noscript>');
    expect(html).not.toContain('Sort the parcels');
  });

  it('shows a final anchor without a script and without the chain, for previews too', async () => {
    const made = await anchored(`Pick <b> & "4711" $& $'`);
    await finalized(made);
    await service.endChain();
    const { proof_hash: hash, tx_hash: txHash, anchored_at: at } = made.receipt;

    const { response, html } = await page(`/verify/${hash.toUpperCase().replace('X', 'x')}`);

    expect(response.status).toBe(200);
    expect(response.headers.get('content-security-policy')).not.toContain('unsafe');
    const title =
      'Pick &#60;b&#62; &#38; &#34;4711&#34; $&#38; $&#39; by &#60;/title&#62;&#60;script&#62;$&#39;&#34;arm';
    expect(html).toContain(`<title>${title} · svc</title>`);
    expect(html).toContain(`<meta property="og:title" content="${title}">`);
    expect(html).not.toMatch(/<script>|<b>/);
    const day = new Date(at).getUTCDate();
    const time = new Date(at).toISOString().slice(11, 16);
    const host = new URL(service.url).host;
    expect(html).toMatch(
      new RegExp(
        `og:description" content="The evidence with this hash has not changed since ${day} \\w+ \\d{4}, ${time} UTC \\(block time\\). Anchored by 0xf39F…2266, the published account of ${host}."`,
      ),
    );
    expect(html).toContain(`<dd>${txHash}</dd>`);
    expect(html).toContain('The checks need JavaScript');
  });
});

describe('a path that does not exist', () => {
  it('is a page for a browser, and a JSON error for others', async () => {
    const { response, html } = await page('/nowhere');
    expect(response.status).toBe(404);
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(html).toContain('<div id="root"><noscript>');

    for (const [path, accept] of [
      ['/nowhere', '*/*'],
      ['/api/nowhere', 'text/html'],
    ] as const) {
      const { response, html } = await page(path, accept);
      expect([response.status, JSON.parse(html).error]).toEqual([404, 'not_found']);
    }
  });
});
