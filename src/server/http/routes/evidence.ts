import type { Deps } from '../../core/deps.ts';
import { eraseProof, readBundle, readProof } from '../../core/evidence.ts';
import { listTasks } from '../../core/tasks.ts';
import type { Handlers } from '../server/call.ts';

type Name = 'listTasks' | 'getProof' | 'eraseProof' | 'getBundle';

export function evidenceHandlers(deps: Deps): Pick<Handlers, Name> {
  return {
    async listTasks({ caller, query }) {
      return { status: 200, body: await listTasks(deps, caller.wallet, query) };
    },
    async getProof({ caller, params }) {
      return { status: 200, body: await readProof(deps, params.id, caller) };
    },
    async eraseProof({ caller, params }) {
      await eraseProof(deps, params.id, caller.wallet);
      return { status: 200, body: { deleted: true } };
    },
    async getBundle({ caller, params }) {
      return { status: 200, body: await readBundle(deps, params.id, caller) };
    },
  };
}
