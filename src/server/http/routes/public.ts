// Handlers for public reads: verification, the chain, health and the OpenAPI document.
import { packageVersion } from '../../../base/version.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { type OpenApiDocument, openApiDocument } from '../../../protocol/openapi/document.ts';
import type { Deps } from '../../core/deps.ts';
import { getChainDetails, getReadiness } from '../../core/operations.ts';
import { shareChainReads } from '../../core/shared-reads.ts';
import { readAnchorTransaction, verifyProofHash } from '../../core/verification.ts';
import { JsonText } from '../../ports/json-text.ts';
import type { Handlers } from '../server/call.ts';

export function publicHandlers(deps: Deps) {
  const reads = shareChainReads(deps.chain, () => deps.settings.verifyMaxAgeMs);
  // Built once, because that takes too long for a request. As text it needs less memory than as objects.
  const document = new JsonText<OpenApiDocument>(JSON.stringify(openApiDocument(packageVersion())));
  return {
    async verifyProofHash({ params, query }) {
      const proofHash = params.proofHash.toLowerCase() as Hex; // Validated by the route's schema.
      const taskId = query.task_id ?? null;
      return { status: 200, body: await verifyProofHash(deps, reads, proofHash, taskId) };
    },
    async readAnchorTransaction({ params }) {
      const txHash = params.txHash.toLowerCase() as Hex; // Validated by the route's schema.
      return { status: 200, body: await readAnchorTransaction(deps, reads, txHash) };
    },
    async getChain() {
      return { status: 200, body: await getChainDetails(deps) };
    },
    async getHealth() {
      return { status: 200, body: { status: 'up' } };
    },
    async getReadiness() {
      return { status: 200, body: await getReadiness(deps) };
    },
    async getOpenApi() {
      return { status: 200, body: document };
    },
  } satisfies Partial<Handlers>;
}
