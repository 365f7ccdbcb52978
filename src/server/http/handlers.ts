import type { Hex } from '../../proof/bytes.ts';
import type { Proof } from '../../proof/json-value.ts';
import { createAnchorReader } from '../core/anchor-reader.ts';
import { getChainDetails } from '../core/chain-details.ts';
import { completeTask } from '../core/complete-task.ts';
import type { Deps } from '../core/deps.ts';
import { signOut } from '../core/sessions.ts';
import { countChallenge, createChallenge, signIn } from '../core/sign-in.ts';
import { claimTask, readTask } from '../core/tasks.ts';
import { readAnchorTransaction, verifyProofHash } from '../core/verify.ts';
import type { Handlers } from './call.ts';
import { challengeNonce, createCookies, sessionToken } from './cookies.ts';
import { accountHandlers } from './handlers/account.ts';
import { evidenceHandlers } from './handlers/evidence.ts';
import { createFleetHandlers } from './handlers/fleets.ts';
import { operationsHandlers } from './handlers/operations.ts';
import { createRobotHandlers } from './handlers/robots.ts';
import { telemetryHandlers } from './handlers/telemetry.ts';
import { applyCount } from './rate-limit.ts';
import { createWaits } from './waits.ts';

/** One handler for each route of the table: from the wire to the use case and back. */
export function createHandlers(deps: Deps): Handlers {
  const cookies = createCookies(() => deps.settings.baseUrl.startsWith('https:'));
  const wait = createWaits(deps.stopping);
  const readAnchor = createAnchorReader(deps.chain, () => deps.settings.verifyMaxAgeMs);
  return {
    ...accountHandlers(deps, cookies),
    ...evidenceHandlers(deps),
    ...operationsHandlers(deps),
    async createChallenge({ body, reply }) {
      const { wallet, count } = await countChallenge(deps, body.address);
      applyCount(reply, count);
      const { nonce, message } = await createChallenge(deps, wallet, body.chainId);
      cookies.setChallenge(reply, nonce);
      return { status: 200, body: { message } };
    },
    async verifySignature({ body, request, reply }) {
      const nonce = challengeNonce(request);
      const { token, wallet, holds } = await signIn(deps, { ...body, nonce });
      cookies.setSession(reply, token);
      cookies.clearChallenge(reply);
      return { status: 200, body: { signed_in: true, wallet, gate: { holds } } };
    },
    async signOut({ request, reply }) {
      await signOut(deps, sessionToken(request));
      cookies.clearSession(reply);
      return { status: 200, body: { signed_out: true } };
    },
    async getChain() {
      return { status: 200, body: await getChainDetails(deps) };
    },
    async verifyProofHash({ params, query }) {
      const proofHash = params.proofHash.toLowerCase() as Hex; // The route's schema holds its form.
      const taskId = query.task_id ?? null;
      return { status: 200, body: await verifyProofHash(deps, readAnchor, proofHash, taskId) };
    },
    async readAnchorTransaction({ params }) {
      const txHash = params.txHash.toLowerCase() as Hex; // The route's schema holds its form.
      return { status: 200, body: await readAnchorTransaction(deps, readAnchor, txHash) };
    },
    ...createRobotHandlers(deps),
    ...createFleetHandlers(deps),
    ...telemetryHandlers(deps),
    async createTask({ caller, body }) {
      return { status: 201, body: await claimTask(deps, caller, body) };
    },
    completeTask({ caller, params, body, request }) {
      const proof = body.proof as Proof; // The route's schema holds it.
      return wait(request.raw.socket, (enough) =>
        completeTask(deps, caller, params.id, proof, enough),
      );
    },
    async getTask({ caller, params }) {
      return { status: 200, body: await readTask(deps, params.id, caller) };
    },
  };
}
