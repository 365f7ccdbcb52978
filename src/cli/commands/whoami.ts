import type { Context } from '../context.ts';
import { showTime } from '../show-time.ts';

/** `svc whoami` */
export async function whoami({ session, output }: Context): Promise<void> {
  const { client, url, profile } = await session();
  const { body } = await client.call('getAccount');
  const { wallet, gate, credits, limits } = body;
  const expires = profile.expires_at;
  const answer = { ...body, service: url, profile: profile.name, expires_at: expires };
  await output.record(answer, [
    ['wallet', wallet],
    ['service', url],
    ['profile', profile.name],
    ['expires', output.isTerminal ? showTime(expires) : expires],
    ['gate', gate.holds ? 'met' : 'not met'],
    ['anchor_quota', credits.anchor_quota],
    ['gas_credit_wei', credits.gas_credit_wei],
    ['anchors_affordable', credits.anchors_affordable],
    ['robots', `${limits.robots.used} of ${limits.robots.max}`],
    ['fleets', `${limits.fleets.used} of ${limits.fleets.max}`],
  ]);
  if (credits.low) output.note('Credits are low: ask the operator of the service for more.');
}
