// Handlers for public reads: verification, the chain, anchoring accounts, health and the OpenAPI document.
import { packageVersion } from '../../../base/version.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { type OpenApiDocument, openApiDocument } from '../../../protocol/openapi/document.ts';
import { shareChainReads } from '../../core/chain-reads.ts';
import { createListReader, getChainDetails } from '../../core/operations.ts';
import { JsonText } from '../../core/paging.ts';
import { readLeafAnchor } from '../../core/signing/bundle.ts';
import { readAnchorTransaction, verifyProofHash } from '../../core/verification.ts';
import type { Handlers } from '../server/call.ts';
import type { HttpDeps } from '../server/strangers.ts';

export function publicHandlers(deps: HttpDeps) {
  const readsOf = shareChainReads(deps.chain);
  // Built once, because that takes too long for a request. As text it needs less memory than as objects.
  const document = new JsonText<OpenApiDocument>(JSON.stringify(openApiDocument(packageVersion())));
  const readList = createListReader(deps);
  return {
    verifyProofHash({ params, query, request }) {
      const proofHash = params.proofHash.toLowerCase() as Hex; // Validated by the route's schema.
      const reads = readsOf(deps.strangersWork.callerOf(request));
      return verifyProofHash(deps, reads, proofHash, query.task_id ?? null);
    },
    readAnchorTransaction({ params, request }) {
      const txHash = params.txHash.toLowerCase() as Hex; // Validated by the route's schema.
      return readAnchorTransaction(deps, readsOf(deps.strangersWork.callerOf(request)), txHash);
    },
    readLeafAnchor: ({ params, query }) => readLeafAnchor(deps, params.leaf as Hex, query.task_id),
    getChain: () => getChainDetails(deps),
    getHealth: async () => ({ status: 'up' }),
    getReadiness: deps.readReadiness,
    async getAnchoringAccounts({ reply }) {
      const list = await readList();
      reply.header('cache-control', 'public, max-age=60');
      return list;
    },
    getOpenApi: async () => document,
  } satisfies Partial<Handlers>;
}
