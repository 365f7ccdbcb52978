import { packageVersion } from '../../../base/version.ts';
import { type OpenApiDocument, openApiDocument } from '../../../protocol/openapi/document.ts';
import type { Deps } from '../../core/deps.ts';
import { getReadiness } from '../../core/operations.ts';
import { JsonText } from '../../ports/json-text.ts';
import type { Handlers } from '../server/call.ts';

/** What tells about the service itself. */
export function operationsHandlers(
  deps: Deps,
): Pick<Handlers, 'getHealth' | 'getReadiness' | 'getOpenApi'> {
  // Takes too long for a request, and written as JSON it takes less memory than as objects.
  const document = new JsonText<OpenApiDocument>(JSON.stringify(openApiDocument(packageVersion())));
  return {
    async getHealth() {
      return { status: 200, body: { status: 'up' } };
    },
    async getReadiness() {
      return { status: 200, body: await getReadiness(deps) };
    },
    async getOpenApi() {
      return { status: 200, body: document };
    },
  };
}
